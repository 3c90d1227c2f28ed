#include "runtime/comm/nccl/communicator.hpp"

#include <fmt/format.h>

#include "runtime/comm/checks.hpp"

namespace d9d::nccl {
namespace {

// Makes one operation of all calls between group_start and group_end, so that no call waits for
// the one before it.
int grouped(const Api& api, const std::function<int()>& calls) {
  int result = api.group_start();
  if (result != success) return result;
  result = calls();
  const int end = api.group_end();
  return result == success || result == in_progress ? end : result;
}

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("({}, {} elements)", c10::toString(tensor.scalar_type()), tensor.numel());
}

std::size_t count_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Group group, std::shared_ptr<LateChannel> channel, std::unique_ptr<Communicator> host)
      : Communicator(/*late=*/true),
        group_(std::move(group)),
        host_(std::move(host)),
        channel_(std::move(channel)) {}

  int rank() const override { return group_.index; }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name; }
  const std::string& backend() const override { return backend_; }

  void start_all_reduce(at::Tensor& tensor, ReduceOp op) override {
    if (is_of_host(tensor)) return host_->all_reduce(tensor, op).wait();
    comm::check_contiguous(tensor, name(), "all_reduce");
    launch({"all_reduce", shape_text(tensor), ""}, {tensor}, [&](Comm comm, Stream stream) {
      return api().all_reduce(tensor.data_ptr(), count_of(tensor), tensor.scalar_type(), op, comm, stream);
    });
  }

  void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    if (is_of_host(output)) return host_->reduce_scatter(output, input, op).wait();
    comm::check_scatter(output, input, size(), name());
    launch({"reduce_scatter", shape_text(input), ""}, {output, input}, [&](Comm comm, Stream stream) {
      return api().reduce_scatter(input.const_data_ptr(), output.data_ptr(), count_of(output),
                                  output.scalar_type(), op, comm, stream);
    });
  }

  void start_all_gather(at::Tensor& output, const at::Tensor& input) override {
    if (is_of_host(output)) return host_->all_gather(output, input).wait();
    comm::check_gather(output, input, size(), name());
    launch({"all_gather", shape_text(input), ""}, {output, input}, [&](Comm comm, Stream stream) {
      return api().all_gather(input.const_data_ptr(), output.data_ptr(), count_of(input), input.scalar_type(),
                              comm, stream);
    });
  }

  void start_all_to_all(at::Tensor& output, const at::Tensor& input,
                        const std::vector<std::int64_t>& output_splits,
                        const std::vector<std::int64_t>& input_splits) override {
    if (is_of_host(output)) return host_->all_to_all(output, input, output_splits, input_splits).wait();
    comm::check_splits(output, input, output_splits, input_splits, size(), name());
    const std::string row = fmt::format("({})", c10::toString(input.scalar_type()));
    launch({"all_to_all", row, ""}, {output, input}, [&](Comm comm, Stream stream) {
      return grouped(api(), [&] {
        std::int64_t sent = 0, received = 0;
        for (std::size_t peer = 0; peer < input_splits.size(); ++peer) {
          const at::Tensor out = input.narrow(0, sent, input_splits[peer]);
          at::Tensor in = output.narrow(0, received, output_splits[peer]);
          sent += input_splits[peer];
          received += output_splits[peer];
          const int to = static_cast<int>(peer);
          if (int result = send_in(out, to, comm, stream); !goes_on(result)) return result;
          if (int result = receive_in(in, to, comm, stream); !goes_on(result)) return result;
        }
        return success;
      });
    });
  }

  void start_broadcast(at::Tensor& tensor, int root) override {
    if (is_of_host(tensor)) return host_->broadcast(tensor, root).wait();
    comm::check_contiguous(tensor, name(), "broadcast");
    launch({"broadcast", shape_text(tensor), ""}, {tensor}, [&](Comm comm, Stream stream) {
      return api().broadcast(tensor.data_ptr(), count_of(tensor), tensor.scalar_type(), root, comm, stream);
    });
  }

  // Only the calling threads meet. Work that they have queued on the GPU may still run.
  void barrier() override { host_->barrier(); }

  void send(const at::Tensor& tensor, int receiver, int tag) override {
    if (is_of_host(tensor)) return host_->send(tensor, receiver, tag);
    comm::check_peer(receiver, rank(), size(), tag, name(), "send");
    comm::check_contiguous(tensor, name(), "send");
    launch({"send", shape_text(tensor), " to " + rank_text(receiver)}, {tensor},
           [&](Comm comm, Stream stream) { return send_in(tensor, receiver, comm, stream); });
  }

  void start_receive(at::Tensor& tensor, int sender, int tag) override {
    if (is_of_host(tensor)) return host_->receive(tensor, sender, tag).wait();
    comm::check_peer(sender, rank(), size(), tag, name(), "receive");
    comm::check_contiguous(tensor, name(), "receive");
    launch({"receive", shape_text(tensor), " from " + rank_text(sender)}, {tensor},
           [&](Comm comm, Stream stream) { return receive_in(tensor, sender, comm, stream); });
  }

  void begin_exchange(const at::Tensor& out, int receiver, at::Tensor& in, int sender, int tag) override {
    if (is_of_host(out)) return host_->begin_exchange(out, receiver, in, sender, tag);
    comm::check_peer(receiver, rank(), size(), tag, name(), "exchange");
    comm::check_peer(sender, rank(), size(), tag, name(), "exchange");
    comm::check_contiguous(out, name(), "exchange");
    comm::check_contiguous(in, name(), "exchange");
    const std::string with = fmt::format(" to {} and from {}", rank_text(receiver), rank_text(sender));
    launch({"exchange", shape_text(out), with}, {out, in}, [&](Comm comm, Stream stream) {
      return grouped(api(), [&] {
        const int result = send_in(out, receiver, comm, stream);
        return goes_on(result) ? receive_in(in, sender, comm, stream) : result;
      });
    });
  }
  void await_exchange(at::Tensor& in, int sender, int tag) override {
    if (is_of_host(in)) return host_->end_exchange(in, sender, tag).wait();
    wait();
  }

  void connect() override { channel_->connect(name()); }
  void wait() override { channel_->wait(name()); }
  void check() const override { channel_->check(name()); }

  void abort(const std::string& reason) noexcept override {
    channel_->abort(reason);
    host_->abort(reason);
  }

  void set_timeout(std::chrono::milliseconds timeout) override {
    channel_->set_timeout(timeout);
    host_->set_timeout(timeout);
  }

 private:
  const Api& api() const { return channel_->api(); }
  bool is_of_host(const at::Tensor& tensor) const { return tensor.device().type() != api().device_type; }
  static bool goes_on(int result) { return result == success || result == in_progress; }
  std::string rank_text(int index) const {
    return fmt::format("rank {}", group_.ranks[static_cast<std::size_t>(index)]);
  }

  int send_in(const at::Tensor& tensor, int peer, Comm comm, Stream stream) const {
    return api().send(tensor.const_data_ptr(), count_of(tensor), tensor.scalar_type(), peer, comm, stream);
  }
  int receive_in(at::Tensor& tensor, int peer, Comm comm, Stream stream) const {
    return api().receive(tensor.data_ptr(), count_of(tensor), tensor.scalar_type(), peer, comm, stream);
  }
  void launch(Channel::What what, std::vector<at::Tensor> tensors, const Channel::Call& call) {
    what.group = name();
    channel_->launch(what, std::move(tensors), call);
  }

  const Group group_;
  const std::unique_ptr<Communicator> host_;
  const std::shared_ptr<LateChannel> channel_;
  const std::string backend_ = "nccl";
};

}  // namespace

std::shared_ptr<Channel> watched(std::unique_ptr<Channel> channel, std::shared_ptr<Watch> watch) {
  watch->add(*channel);
  // The Watch still looks at the channel while close() waits, so deadlines hold then, too.
  return {channel.release(), [watch = std::move(watch)](Channel* last) {
            last->close();
            watch->remove(*last);
            delete last;
          }};
}

std::unique_ptr<Communicator> make_communicator(Group group, std::shared_ptr<LateChannel> channel,
                                                std::unique_ptr<Communicator> host) {
  return std::make_unique<NcclCommunicator>(std::move(group), std::move(channel), std::move(host));
}

}  // namespace d9d::nccl
