// Streams and events, and what a test makes go wrong.
#include "tests/runtime/comm/nccl/fake_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace d9d::nccl {
namespace fake {
namespace {

FakeNccl::State*& current() {
  static FakeNccl::State* state = nullptr;
  return state;
}

int fake_record(Event event, Stream stream) {
  const std::lock_guard lock(state().mutex);
  auto* const of = static_cast<FakeEvent*>(event);
  const std::uint64_t number = ++of->recorded;
  static_cast<FakeStream*>(stream)->work.emplace_back([of, number] {
    const std::lock_guard inner(state().mutex);
    if (state().live_events.contains(of)) of->done = std::max(of->done, number);
    state().changed.notify_all();
  });
  state().changed.notify_all();
  return success;
}

int fake_stream_waits(Stream stream, Event event) {
  const std::lock_guard lock(state().mutex);
  auto* const of = static_cast<FakeEvent*>(event);
  static_cast<FakeStream*>(stream)->work.emplace_back([of, number = of->recorded] {
    std::unique_lock inner(state().mutex);
    state().changed.wait(
        inner, [&] { return state().over || !state().live_events.contains(of) || of->done >= number; });
  });
  state().changed.notify_all();
  return success;
}

}  // namespace

FakeNccl::State& state() {
  return *current();
}

int& device_of_thread() {
  thread_local int device = 0;
  return device;
}

void fill_streams(Api& api) {
  api.cuda_text_of = [](int) { return "a CUDA error"; };
  api.use_device = [](int device) { return device_of_thread() = device, success; };
  api.current_stream = [](int device) -> Stream {
    const std::lock_guard lock(state().mutex);
    auto& stream = state().compute[device];
    if (stream == nullptr) stream = state().open_stream(device);
    return stream;
  };
  api.create_stream = [](Stream* stream) {
    const std::lock_guard lock(state().mutex);
    *stream = state().open_stream(device_of_thread());
    return success;
  };
  api.destroy_stream = [](Stream stream) {
    state().close_stream(static_cast<FakeStream*>(stream));
    return success;
  };
  api.create_event = [](Event* event) {
    const std::lock_guard lock(state().mutex);
    *event = *state().live_events.insert(new FakeEvent).first;
    return success;
  };
  api.destroy_event = [](Event event) {
    const std::lock_guard lock(state().mutex);
    state().live_events.erase(static_cast<FakeEvent*>(event));
    delete static_cast<FakeEvent*>(event);
    state().changed.notify_all();
    return success;
  };
  api.record = fake_record;
  api.stream_waits = fake_stream_waits;
  api.query = [](Event event) {
    const std::lock_guard lock(state().mutex);
    const auto* const of = static_cast<FakeEvent*>(event);
    return of->done == of->recorded ? success : not_ready;
  };
}

}  // namespace fake

using namespace fake;

FakeStream* FakeNccl::State::open_stream(int device) {
  auto* const stream = new FakeStream;
  stream->device = device;
  streams.insert(stream);
  stream->thread = std::thread([this, stream] {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stream->ends || (!stream->held && !stream->work.empty()); });
      if (stream->work.empty() || (stream->ends && over)) return;
      const auto work = std::move(stream->work.front());
      stream->work.pop_front();
      stream->busy = true;
      lock.unlock();
      work();
      lock.lock();
      stream->busy = false;
      changed.notify_all();
    }
  });
  return stream;
}

void FakeNccl::State::close_stream(FakeStream* stream) {
  {
    const std::lock_guard lock(mutex);
    stream->ends = true;
    streams.erase(stream);
    changed.notify_all();
  }
  stream->thread.join();
  delete stream;
}

CommPtr FakeNccl::State::find(Comm comm) {
  const auto found = comms.find(comm);
  if (found != comms.end()) return found->second;
  ADD_FAILURE() << "a communicator is used that is gone";
  return nullptr;
}

// With the mutex. `try_it` does as much as it can, with the mutex, and says whether that was all.
int FakeNccl::State::enqueue(const CommPtr& comm, Stream stream, std::function<bool()> try_it) {
  const int device = comm->device;
  if (const auto found = failing.find(device); found != failing.end() && --found->second == 0) {
    failing.erase(found);
    comm->error = internal_error;
    try_it = [] { return false; };
  }
  const std::uint64_t ticket = tickets[device]++;
  static_cast<FakeStream*>(stream)->work.emplace_back([this, comm, device, ticket, try_it] {
    std::unique_lock lock(mutex);
    const auto is_over = [&] { return over || comm->aborted; };
    changed.wait(lock, [&] { return is_over() || turn[device] == ticket; });
    changed.wait(lock, [&] {
      if (is_over()) return true;
      const bool done = !stalled.contains(device) && try_it();
      if (done) changed.notify_all();
      return done;
    });
    turn[device] = std::max(turn[device], ticket + 1);
    changed.notify_all();
  });
  changed.notify_all();
  return success;
}

FakeNccl::FakeNccl() : state_(std::make_unique<State>()) {
  current() = state_.get();
}

FakeNccl::~FakeNccl() {
  for (const auto& [device, stream] : state_->compute) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->over = true;
      stream->held = false;
      state_->changed.notify_all();
    }
    state_->close_stream(stream);
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->changed.notify_all();
  }
  EXPECT_TRUE(state_->comms.empty()) << "communicators are left";
  EXPECT_TRUE(state_->streams.empty()) << "streams are left";
  EXPECT_TRUE(state_->live_events.empty()) << "events are left";
  current() = nullptr;
}

const Api& FakeNccl::api() const {
  static const Api api = [] {
    Api filled;
    filled.device_type = c10::DeviceType::CPU;
    fill_communicators(filled);
    fill_streams(filled);
    return filled;
  }();
  return api;
}

bool FakeNccl::synchronize(int device) {
  auto* const stream = static_cast<FakeStream*>(api().current_stream(device));
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, std::chrono::seconds(20),
                                  [&] { return stream->work.empty() && !stream->busy; });
}

void FakeNccl::stall(int device, bool known) {
  const std::lock_guard lock(state_->mutex);
  state_->stalled.insert(device);
  for (const auto& [handle, comm] : state_->comms) {
    for (const auto& [rank, other] : comm->group->devices) {
      if (known && other == device && comm->device != device) comm->error = remote_error;
    }
  }
  state_->changed.notify_all();
}

void FakeNccl::fail_launch(int device, int n) {
  const std::lock_guard lock(state_->mutex);
  state_->failing[device] = n;
}

void FakeNccl::hold_aborts() {
  const std::lock_guard lock(state_->mutex);
  state_->holds_aborts = true;
}

void FakeNccl::release_aborts() {
  const std::lock_guard lock(state_->mutex);
  state_->holds_aborts = false;
  state_->changed.notify_all();
}

void FakeNccl::hold_compute(int device) {
  auto* const stream = static_cast<FakeStream*>(api().current_stream(device));
  const std::lock_guard lock(state_->mutex);
  stream->held = true;
}

void FakeNccl::resume() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [device, stream] : state_->compute) stream->held = false;
  state_->changed.notify_all();
}

int FakeNccl::num_communicators() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<int>(state_->comms.size());
}

bool FakeNccl::caller_has_ended_one() const {
  const std::lock_guard lock(state_->mutex);
  return state_->enders.contains(std::this_thread::get_id());
}

}  // namespace d9d::nccl
