#include "runtime/rank/feed/read_ahead.hpp"

#include <ATen/Parallel.h>

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

ReadAhead::ReadAhead(std::shared_ptr<const SampleSource> source, int threads,
                     std::chrono::milliseconds timeout)
    : SourceOver(std::move(source)), timeout_(timeout) {
  D9D_CHECK(!source_->is_stream(), "samples of a stream come one after another");
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

void ReadAhead::begin(std::uint64_t first, std::uint64_t count) {
  auto range = std::make_shared<Range>();
  range->first = first;
  range->slots.resize(count);
  {
    const std::scoped_lock lock(mutex_);
    range_ = std::move(range);
  }
  has_work_.notify_all();
}

void ReadAhead::work(const std::stop_token& stop) {
  at::set_num_threads(1);  // a source that computes with tensors has its share of the cores by these threads
  std::unique_lock lock(mutex_);
  const auto is_work = [&] { return range_ && range_->next < range_->slots.size(); };
  while (has_work_.wait(lock, stop, is_work)) {
    const std::shared_ptr<Range> range = range_;
    const std::size_t i = range->next++;
    lock.unlock();
    Slot slot{.state = Slot::State::is_read};
    try {
      slot.sample = source_->at(range->first + i);
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    range->slots[i] = std::move(slot);
    is_read_.notify_all();
  }
}

ReadAhead::Slot* ReadAhead::wait_for(std::uint64_t index, std::unique_lock<std::mutex>& lock) const {
  if (!range_ || index < range_->first || index - range_->first >= range_->slots.size()) return nullptr;
  Slot& slot = range_->slots[index - range_->first];
  const auto is_there = [&] { return slot.state != Slot::State::waits; };
  if (timeout_.count() == 0) {
    is_read_.wait(lock, is_there);
  } else if (!is_read_.wait_for(lock, timeout_, is_there)) {
    throw Error(
        ErrorKind::environment,
        fmt::format("sample {} of the data took more than {} s to read; give data_loading.timeout more, or "
                    "look at what the source waits for",
                    index, 1e-3 * static_cast<double>(timeout_.count())));
  }
  return slot.state == Slot::State::taken ? nullptr : &slot;
}

Sample ReadAhead::at(std::uint64_t index) const {
  {
    std::unique_lock lock(mutex_);
    if (Slot* const slot = wait_for(index, lock)) {
      slot->state = Slot::State::taken;
      if (slot->error) std::rethrow_exception(slot->error);
      return std::move(slot->sample);
    }
  }
  return source_->at(index);
}

}  // namespace d9d
