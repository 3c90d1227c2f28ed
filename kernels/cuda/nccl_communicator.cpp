#include "kernels/cuda/nccl_communicator.hpp"

#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <mutex>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "runtime/base/error.hpp"
#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/checks.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d::cuda {
namespace {

using std::chrono::milliseconds;

c10d::ReduceOp op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return c10d::ReduceOp::SUM;
    case ReduceOp::max:
      return c10d::ReduceOp::MAX;
    case ReduceOp::min:
      return c10d::ReduceOp::MIN;
  }
  D9D_CHECK(false, "no reduction {} in NCCL", static_cast<int>(op));
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(c10::intrusive_ptr<c10d::ProcessGroupNCCL> nccl, Group group, int device)
      : nccl_(std::move(nccl)),
        group_(std::move(group)),
        device_(c10::kCUDA, static_cast<c10::DeviceIndex>(device)) {}

  int rank() const override { return group_.index; }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name; }
  const std::string& backend() const override { return backend_; }

  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    comm::check_contiguous(tensor, name(), "all_reduce");
    on_device("all_reduce", tensor, [&](at::Tensor& there) {
      std::vector<at::Tensor> tensors{there};
      c10d::AllreduceOptions options;
      options.reduceOp = op_of(op);
      return nccl_->allreduce(tensors, options);
    });
  }

  void reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    comm::check_scatter(output, input, size(), name());
    at::Tensor from = input.to(device_);
    on_device("reduce_scatter", output, [&](at::Tensor& there) {
      c10d::ReduceScatterOptions options;
      options.reduceOp = op_of(op);
      return nccl_->_reduce_scatter_base(there, from, options);
    });
  }

  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    comm::check_gather(output, input, size(), name());
    at::Tensor from = input.to(device_);
    on_device("all_gather", output, [&](at::Tensor& there) { return nccl_->_allgather_base(there, from); });
  }

  void all_to_all(at::Tensor& output, const at::Tensor& input, const std::vector<std::int64_t>& output_splits,
                  const std::vector<std::int64_t>& input_splits) override {
    comm::check_splits(output, input, output_splits, input_splits, size(), name());
    at::Tensor from = input.to(device_);
    std::vector<std::int64_t> out = output_splits;
    std::vector<std::int64_t> in = input_splits;
    on_device("all_to_all", output,
              [&](at::Tensor& there) { return nccl_->alltoall_base(there, from, out, in); });
  }

  void broadcast(at::Tensor& tensor, int root) override {
    comm::check_contiguous(tensor, name(), "broadcast");
    on_device("broadcast", tensor, [&](at::Tensor& there) {
      std::vector<at::Tensor> tensors{there};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return nccl_->broadcast(tensors, options);
    });
  }

  void barrier() override {
    translated("barrier", [&] {
      c10d::BarrierOptions options;
      options.device = device_;
      nccl_->barrier(options)->wait();
    });
  }

  void send(const at::Tensor& tensor, int receiver, int tag) override {
    comm::check_peer(receiver, rank(), size(), tag, name(), "send");
    comm::check_contiguous(tensor, name(), "send");
    translated("send", [&] {
      std::vector<at::Tensor> tensors{tensor.to(device_)};
      pending_.push_back(nccl_->send(tensors, receiver, 0));
    });
  }

  void receive(at::Tensor& tensor, int sender, int tag) override {
    comm::check_peer(sender, rank(), size(), tag, name(), "receive");
    comm::check_contiguous(tensor, name(), "receive");
    on_device("receive", tensor, [&](at::Tensor& there) {
      std::vector<at::Tensor> tensors{there};
      return nccl_->recv(tensors, sender, 0);
    });
  }

  void wait() override {
    translated("wait", [&] {
      for (const auto& work : pending_) work->wait();
      pending_.clear();
    });
  }

  void abort(const std::string& reason) noexcept override {
    if (!aborted_.set("aborted: " + reason)) return;
    try {
      nccl_->abort();
    } catch (const std::exception&) {  // it is of no more use either way
    }
  }

  void set_timeout(milliseconds timeout) override { nccl_->setTimeout(timeout); }

 private:
  template <class Call>
  void translated(const char* operation, Call&& call) {
    aborted_.throw_if_set(operation, name(), backend_);
    const c10::cuda::CUDAGuard guard(device_);
    try {
      call();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      aborted_.set(text.substr(0, text.find('\n')));
      aborted_.throw_if_set(operation, name(), backend_);
    }
  }

  // A tensor of the GPU: enqueued. One of the CPU: there and back.
  template <class Call>
  void on_device(const char* operation, at::Tensor& tensor, Call&& call) {
    translated(operation, [&] {
      if (tensor.is_cuda()) {
        pending_.push_back(call(tensor));
        return;
      }
      at::Tensor there = tensor.to(device_);
      call(there)->wait();
      tensor.copy_(there);
    });
  }

  const c10::intrusive_ptr<c10d::ProcessGroupNCCL> nccl_;
  const Group group_;
  const c10::Device device_;
  const std::string backend_ = "nccl";
  comm::AbortFlag aborted_;
  std::vector<c10::intrusive_ptr<c10d::Work>> pending_;  // enqueued, not waited for
};

// The group's name as the name of a file.
std::string file_of(const Group& group) {
  std::string name = "nccl-" + group.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

std::unique_ptr<Communicator> open_nccl(const Group& group, const std::string& folder, int device,
                                        milliseconds timeout) {
  try {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    auto store = c10::make_intrusive<c10d::FileStore>(folder + "/" + file_of(group), group.size());
    store->setTimeout(timeout);
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, group.index, group.size(), options);
    return std::make_unique<NcclCommunicator>(std::move(nccl), group, device);
  } catch (const std::exception& error) {
    comm::fail_in_group("open", group.name, "nccl", error.what());
  }
}

}  // namespace d9d::cuda
