#include "SampleOrder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>

using namespace hethub::runtime;

uint64_t hethub::runtime::mixSeed(std::initializer_list<uint64_t> parts) {
  // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
  // generators, 2014).
  uint64_t state = 0;
  for (uint64_t part : parts) {
    state = (state ^ part) + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
  }
  return state;
}

int64_t SampleOrder::at(int64_t position) {
  int64_t epoch = position / samples_, index = position % samples_;
  if (inOrder_)
    return index;
  at::Tensor &order = epochs_[epoch];
  if (!order.defined()) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(
        mixSeed({seed_, static_cast<uint64_t>(epoch)}));
    order =
        at::randperm(samples_, generator, at::TensorOptions().dtype(at::kLong));
    // Positions only rise, but the microbatches of a step may lie in two
    // epochs.
    while (epochs_.size() > 2)
      epochs_.erase(epochs_.begin());
  }
  return epochs_.at(epoch).const_data_ptr<int64_t>()[index];
}
