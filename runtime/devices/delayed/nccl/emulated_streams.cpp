#include "runtime/devices/delayed/nccl/emulated_streams.hpp"

#include <array>

#include "runtime/devices/delayed/marked_event.hpp"

namespace d9d::nccl {
namespace {

struct EmulatedEvent {
  std::shared_ptr<const delayed::Mark> mark;  // null: never recorded
  // The caller then knows what came before.
  bool reached() const { return !mark || delayed::Machine::sees(*mark); }
};

// Never freed, as the devices are not.
EmulatedStream* stream_at(int device, int number) {
  using Streams = std::array<EmulatedStream, delayed::max_devices * delayed::num_streams>;
  static const auto streams = [] {
    auto made = std::make_unique<Streams>();
    for (int i = 0; i < static_cast<int>(made->size()); ++i)
      (*made)[static_cast<std::size_t>(i)] = {i / delayed::num_streams, i % delayed::num_streams};
    return made;
  }();
  return &streams->at(static_cast<std::size_t>(device * delayed::num_streams + number));
}

const EmulatedStream& stream_of(Stream stream) {
  return *static_cast<const EmulatedStream*>(stream);
}
EmulatedEvent& event_of(Event event) {
  return *static_cast<EmulatedEvent*>(event);
}

}  // namespace

void fill_emulated_streams(Api& api) {
  api.cuda_text_of = [](int) { return "an error of an emulated GPU"; };
  api.use_device = [](int device) { return delayed::current().device = device, success; };
  api.current_stream = [](int device) -> Stream {
    return stream_at(device, delayed::current().streams[device]);
  };
  api.create_stream = [](Stream* stream) {
    *stream = stream_at(delayed::current().device, delayed::collective_stream);
    return success;
  };
  api.destroy_stream = [](Stream) { return success; };
  api.create_event = [](Event* event) { return *event = new EmulatedEvent, success; };
  api.destroy_event = [](Event event) { return delete static_cast<EmulatedEvent*>(event), success; };
  api.record = [](Event event, Stream stream) {
    const EmulatedStream& of = stream_of(stream);
    event_of(event).mark = of.machine().record(of.number);
    return success;
  };
  api.stream_waits = [](Stream stream, Event event) {
    const EmulatedStream& of = stream_of(stream);
    if (event_of(event).mark) of.machine().wait_for(of.number, event_of(event).mark);
    return success;
  };
  api.record_time = [](int /*device*/, Stream stream) {
    const EmulatedStream& of = stream_of(stream);
    return delayed::event_of(of.machine().record(of.number));
  };
  api.query = [](Event event) { return event_of(event).reached() ? success : not_ready; };
  api.work_for = [](Event event) {
    if (!event_of(event).reached()) delayed::Machine::work_towards(*event_of(event).mark);
  };
}

}  // namespace d9d::nccl
