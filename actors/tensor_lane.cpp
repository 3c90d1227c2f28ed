#include "actors/tensor_lane.hpp"

#include "messages/lists.hpp"

namespace d9d {
namespace {

std::vector<TransferTensor> read_descriptions(wire::TensorsAnnounced::Reader message) {
  std::vector<TransferTensor> tensors;
  for (const auto description : message.getTensors()) {
    tensors.push_back({description.getName(), description.getDtype(),
                       to_vector<std::int64_t>(description.getShape()), description.getRequiresGrad(),
                       description.getOnHost()});
  }
  return tensors;
}

}  // namespace

TensorLane::TensorLane(World& world, TensorLaneOptions options)
    : Actor(world), options_(std::move(options)) {}

void TensorLane::behavior(Handlers& handlers) {
  handlers.on(this, &TensorLane::send_tensors);
  handlers.on(this, &TensorLane::tensors_announced);
  handlers.on(this, &TensorLane::sleep);
  handlers.on(this, &TensorLane::wake);
}

void TensorLane::started() {
  set_rank(rank_of(self()));
  const std::int64_t begin = world().clock.now_ns();
  wire_ = options_.open_wire();
  if (world().recorder != nullptr) track_ = world().recorder->actor(to_string(self()), rank_of(self()));
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) {
    ready.setRank(rank_of(self()));
    ready.setSeconds(1e-9 * static_cast<double>(world().clock.now_ns() - begin));
  });
}

trace::Span TensorLane::wire_span(const char* name, std::uint64_t step,
                                  const std::vector<TransferTensor>& tensors) {
  return {.bytes = bytes_of(tensors),
          .actor = track_,
          .name = trace_name(name),
          .step = static_cast<std::int32_t>(step),
          .category = trace::Category::collective};
}

void TensorLane::send_tensors(wire::SendTensors::Reader message) {
  set_step(message.getStep());
  const auto tensors = wire_->open(Ticket::from_packed(message.getTicket()));
  const Work work(*this, wire_span("send", message.getStep(), tensors));
  const ActorId other = lane_id(options_.sending_rank, options_.receiving_rank, LaneEnd::receiver);
  // Announced before the bytes are sent: the other end begins to receive on the announcement, and sending
  // may block until it does.
  tell<wire::TensorsAnnounced>(other, [&](wire::TensorsAnnounced::Builder announced) {
    announced.setStep(message.getStep());
    announced.setStage(message.getStage());
    announced.setMicrobatch(message.getMicrobatch());
    announced.setGradient(message.getGradient());
    announced.setProducedNs(message.getProducedNs());
    announced.setPass(message.getPass());
    auto list = announced.initTensors(static_cast<unsigned>(tensors.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setName(tensors[i].name);
      list[i].setDtype(tensors[i].dtype);
      list[i].setRequiresGrad(tensors[i].requires_grad);
      list[i].setOnHost(tensors[i].on_host);
      fill_list(list[i].initShape(static_cast<unsigned>(tensors[i].shape.size())), tensors[i].shape);
    }
  });
  wire_->send_opened();
}

void TensorLane::tensors_announced(wire::TensorsAnnounced::Reader message) {
  set_step(message.getStep());
  const auto tensors = read_descriptions(message);
  Ticket ticket;
  {
    const Work work(*this, wire_span("receive", message.getStep(), tensors));
    ticket = wire_->receive(tensors);
  }
  const ActorId stage{Role::rank_executor, static_cast<std::uint64_t>(options_.receiving_rank)};
  const auto fill = [&](auto builder) {
    builder.setStep(message.getStep());
    builder.setStage(message.getStage());
    builder.setMicrobatch(message.getMicrobatch());
    builder.setTicket(ticket.packed());
    builder.setProducedNs(message.getProducedNs());
    builder.setPass(message.getPass());
  };
  message.getGradient() ? tell<wire::GradientReady>(stage, fill) : tell<wire::ActivationReady>(stage, fill);
}

void TensorLane::sleep(wire::Sleep::Reader message) {
  wire_ = nullptr;
  tell<wire::Slept>(sender(), [&](wire::Slept::Builder slept) { slept.setStep(message.getStep()); });
}

void TensorLane::wake(wire::Wake::Reader message) {
  wire_ = options_.open_wire();
  tell<wire::Awake>(sender(), [&](wire::Awake::Builder awake) { awake.setStep(message.getStep()); });
}

}  // namespace d9d
