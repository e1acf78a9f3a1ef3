// Sends and receives with a header. The header carries the time of sending (for
// emulated links) and the shape (for values whose shape is known only at run
// time), and is checked before the value is used.
#include "ChannelEnds.h"
#include "Emulation.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

#include <ATen/ops/empty.h>

#include <algorithm>

using namespace hethub::runtime;

namespace {
// Header words: channel, microbatch, time of sending in ns, rank, then the
// sizes.
constexpr int64_t headerWords = 16, firstSize = 4;

int headerTag(const ChannelSpec &channel) { return 2 * channel.id; }
int valueTag(const ChannelSpec &channel) { return 2 * channel.id + 1; }
at::Tensor newHeader() {
  return at::empty({headerWords}, at::TensorOptions().dtype(at::kLong));
}
std::string label(const ChannelSpec &channel) {
  return "channel " + std::to_string(channel.id) + " '" + channel.name + "'";
}
} // namespace

int64_t SendEnd::send(const at::Tensor &value, int64_t microbatch) {
  if (value.scalar_type() != channel_.dtype ||
      !shapeFits(value.sizes(), channel_.shape))
    fail(label(channel_), " carries ", typeName(channel_.dtype, channel_.shape),
         ", got: ", typeName(value.scalar_type(), value.sizes()));
  if (value.dim() > headerWords - firstSize)
    fail(label(channel_), " carries tensors of at most ",
         headerWords - firstSize, " axes, got: ", value.dim());
  while (depth_ > 0 && underWay_.size() >= depth_)
    retire();
  Message message;
  message.value = value.contiguous();
  if (comm_.receivesAhead()) {
    message.header = newHeader();
    int64_t *words = message.header.mutable_data_ptr<int64_t>();
    std::fill(words, words + headerWords, 0);
    words[0] = channel_.id;
    words[1] = microbatch;
    words[2] = nanosecondsNow();
    words[3] = value.dim();
    std::copy(value.sizes().begin(), value.sizes().end(), words + firstSize);
    message.headerWork = comm_.send(message.header, peer_, headerTag(channel_));
  }
  // A tensor without elements is all in its header.
  if (message.value.numel() > 0)
    message.valueWork = comm_.send(message.value, peer_, valueTag(channel_));
  underWay_.push_back(std::move(message));
  if (depth_ == 0) {
    underWay_.back().isDone(); // from now on somebody looks after it
    while (!underWay_.empty() && underWay_.front().isDone())
      underWay_.pop_front();
  }
  return static_cast<int64_t>(value.nbytes());
}

void SendEnd::retire() {
  Message &message = underWay_.front();
  if (message.headerWork)
    message.headerWork->wait();
  if (message.valueWork)
    message.valueWork->wait();
  underWay_.pop_front();
}

void SendEnd::finish() {
  while (!underWay_.empty())
    retire();
}

ReceiveEnd::ReceiveEnd(Comm &comm, const ChannelSpec &channel, int peer,
                       int depth, at::Device device)
    : comm_(comm), channel_(channel), peer_(peer),
      depth_(static_cast<size_t>(depth)), device_(device),
      isStatic_(std::all_of(channel.shape.begin(), channel.shape.end(),
                            [](int64_t size) { return size >= 0; })),
      hasHeader_(comm.receivesAhead()) {
  if (!hasHeader_) {
    if (!isStatic_)
      fail(label(channel),
           " carries a tensor whose shape is known only at run time, which ",
           comm.name(), " can not send");
    depth_ = 1;
  }
}

at::Tensor ReceiveEnd::buffer() {
  // A buffer may be filled again when nothing but the pool holds the tensor,
  // nor a view of its memory.
  for (const at::Tensor &tensor : pool_)
    if (tensor.use_count() == 1 && tensor.storage().use_count() == 1)
      return tensor;
  at::Tensor tensor =
      at::empty(channel_.shape,
                at::TensorOptions().dtype(channel_.dtype).device(device_));
  pool_.push_back(tensor);
  return tensor;
}

void ReceiveEnd::postAhead() {
  while (posted_.size() < depth_ && !expected_.empty()) {
    Message message;
    if (hasHeader_) {
      message.header = newHeader();
      message.headerWork =
          comm_.receive(message.header, peer_, headerTag(channel_));
    }
    if (isStatic_) {
      message.value = buffer();
      if (message.value.numel() > 0)
        message.valueWork =
            comm_.receive(message.value, peer_, valueTag(channel_));
    }
    posted_.push_back(std::move(message));
    expected_.pop_front();
  }
}

void ReceiveEnd::checkHeader(const at::Tensor &header, int64_t microbatch,
                             std::vector<int64_t> &shape) const {
  const int64_t *words = header.const_data_ptr<int64_t>();
  if (words[0] != channel_.id || words[1] != microbatch || words[3] < 0 ||
      words[3] > headerWords - firstSize)
    fail("message on ", label(channel_), " must be microbatch ", microbatch,
         ", got: channel ", words[0], ", microbatch ", words[1]);
  shape.assign(words + firstSize, words + firstSize + words[3]);
  if (!shapeFits(shape, channel_.shape))
    fail("message on ", label(channel_), " must have type ",
         typeName(channel_.dtype, channel_.shape),
         ", got: ", typeName(channel_.dtype, shape));
}

at::Tensor ReceiveEnd::take(int64_t microbatch) {
  postAhead();
  if (posted_.empty())
    fail(label(channel_), " expects no message of microbatch ", microbatch);
  Message message = std::move(posted_.front());
  posted_.pop_front();
  std::vector<int64_t> shape = channel_.shape;
  int64_t sentAt = 0;
  if (hasHeader_) {
    message.headerWork->wait();
    checkHeader(message.header, microbatch, shape);
    sentAt = message.header.const_data_ptr<int64_t>()[2];
  }
  if (!isStatic_) {
    message.value = at::empty(
        shape, at::TensorOptions().dtype(channel_.dtype).device(device_));
    if (message.value.numel() > 0)
      message.valueWork =
          comm_.receive(message.value, peer_, valueTag(channel_));
  }
  if (message.valueWork)
    message.valueWork->wait();
  if (hasHeader_)
    sleepUntilDelivery(channel_, sentAt,
                       static_cast<int64_t>(message.value.nbytes()));
  return message.value;
}
