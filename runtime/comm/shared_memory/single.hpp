#pragma once
// The communicator of a group of one rank. Collectives copy the input to the output; send and
// receive are bug errors.

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {

class SingleCommunicator final : public Communicator {
 public:
  explicit SingleCommunicator(std::string name = "alone");

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& name() const override { return name_; }
  const std::string& backend() const override { return backend_; }

  void start_all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override;
  void start_all_gather(at::Tensor& output, const at::Tensor& input) override;
  void start_all_to_all(at::Tensor& output, const at::Tensor& input,
                        const std::vector<std::int64_t>& output_splits,
                        const std::vector<std::int64_t>& input_splits) override;
  void start_broadcast(at::Tensor& tensor, int root) override;
  void barrier() override;
  void send(const at::Tensor& tensor, int receiver, int tag) override;
  void start_receive(at::Tensor& tensor, int sender, int tag) override;
  void abort(const std::string& reason) noexcept override;
  void set_timeout(std::chrono::milliseconds) override {}

 private:
  void require_alive(const char* operation) const { aborted_.throw_if_set(operation, name_, backend_); }

  const std::string name_;
  const std::string backend_ = "single";
  comm::AbortFlag aborted_;
};

}  // namespace d9d
