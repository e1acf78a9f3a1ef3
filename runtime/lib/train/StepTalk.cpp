#include "StepTalk.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

using namespace hethub::runtime;

namespace {
// Above the tags of all channels.
constexpr int orderTag = std::numeric_limits<int>::max() - 1,
              reportTag = std::numeric_limits<int>::max() - 2;
// Far more than ever is under way: a peer is at most a step behind.
constexpr size_t mostSends = 256;

at::Tensor doubles(int64_t count) {
  return at::empty({count}, at::TensorOptions().dtype(at::kDouble));
}
} // namespace

void StepTalk::send(at::Tensor tensor, int peer, int tag) {
  while (sends_.size() >= mostSends) {
    sends_.front().work->wait();
    sends_.pop_front();
  }
  WorkPtr work = host_->send(tensor, peer, tag);
  sends_.push_back({std::move(tensor), std::move(work)});
}

void StepTalk::begin(bool isLast) {
  isLast_ = isLast;
  if (!host_)
    return;
  if (!isFirstRank()) {
    order_.tensor = doubles(1);
    order_.work = host_->receive(order_.tensor, 0, orderTag);
    return;
  }
  for (int peer = 1; peer < host_->size(); ++peer) {
    at::Tensor order = doubles(1);
    *order.mutable_data_ptr<double>() = isLast;
    send(std::move(order), peer, orderTag);
  }
}

bool StepTalk::end(const StepReport &report) {
  at::Tensor own = doubles(microbatches_ + 2);
  double *fields = own.mutable_data_ptr<double>();
  std::copy(report.losses.begin(), report.losses.end(), fields);
  fields[microbatches_] = report.squares;
  fields[microbatches_ + 1] = report.wantsStop;
  if (!isFirstRank()) {
    send(std::move(own), 0, reportTag);
    order_.work->wait();
    return *order_.tensor.const_data_ptr<double>() != 0;
  }
  std::vector<Message> messages;
  messages.push_back({std::move(own), nullptr});
  for (int peer = 1; host_ && peer < host_->size(); ++peer) {
    at::Tensor buffer = doubles(microbatches_ + 2);
    WorkPtr work = host_->receive(buffer, peer, reportTag);
    messages.push_back({std::move(buffer), std::move(work)});
  }
  reports_.push_back(std::move(messages));
  return isLast_;
}

std::optional<StepReport> StepTalk::collect(size_t keep) {
  if (reports_.size() <= keep)
    return std::nullopt;
  StepReport sum;
  sum.losses.resize(static_cast<size_t>(microbatches_));
  for (Message &message : reports_.front()) {
    if (message.work)
      message.work->wait();
    const double *fields = message.tensor.const_data_ptr<double>();
    for (size_t i = 0; i < sum.losses.size(); ++i)
      sum.losses[i] += fields[i];
    sum.squares += fields[microbatches_];
    sum.wantsStop |= fields[microbatches_ + 1] != 0;
  }
  reports_.pop_front();
  return sum;
}

void StepTalk::finish() {
  for (Message &message : sends_)
    message.work->wait();
  sends_.clear();
}
