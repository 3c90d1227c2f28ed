#pragma once
// Collectives by direct exchange: every rank sends each peer the part that is for that peer, and sums the
// parts that it receives in rank order. An all-reduce takes two rounds whatever the size of the group, or
// one for a small tensor; a ring takes 2 (n - 1) and moves as many bytes. Sums equal those over shared
// memory bit for bit.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/peer_links.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::comm {

class ExchangeCommunicator final : public Communicator {
 public:
  ExchangeCommunicator(std::unique_ptr<PeerLinks> links, Group group, std::string backend,
                       std::chrono::milliseconds timeout);
  // Waits until all sent messages are delivered, unless the group has failed.
  ~ExchangeCommunicator() override;

  int rank() const override { return group_.index; }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name; }
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
  void abort(const std::string& reason) noexcept override { fail("aborted: " + reason); }
  void set_timeout(std::chrono::milliseconds timeout) override;

 private:
  struct Bytes {
    int peer = 0;
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  struct Sent {
    std::unique_ptr<Transfer> transfer;
    at::Tensor tensor;
    int receiver = 0;
  };

  // Sends and receives all of these and waits for them. Both sides skip empty ones.
  void exchange(const char* operation, const std::vector<Bytes>& outgoing,
                const std::vector<Bytes>& incoming);
  std::unique_ptr<Transfer> begin_receive(const Bytes& bytes, int tag, const char* operation);
  std::unique_ptr<Transfer> begin_send(const Bytes& bytes, int tag, const char* operation);
  void wait_for(Transfer& transfer, int peer, const char* operation);
  void reduce_small(at::Tensor& tensor, ReduceOp op);
  void reduce_segment(std::byte* data, std::int64_t count, c10::ScalarType dtype, ReduceOp op);
  std::byte* scratch(std::size_t bytes);
  void keep_until_delivered();
  void fail(const std::string& reason) noexcept;
  [[noreturn]] void fail_all(const NotMet& error, const char* operation);
  [[noreturn]] void fail_of(int peer, const std::exception& error, const char* operation);
  template <class Peers>
  void for_peers(Peers&& with_peer) const;

  const std::unique_ptr<PeerLinks> links_;
  const Group group_;
  const std::string backend_;
  std::atomic<std::chrono::milliseconds> timeout_;
  AbortFlag aborted_;
  int collectives_ = 0;
  std::vector<std::byte> scratch_;

  std::mutex in_flight_mutex_;
  std::set<Transfer*> in_flight_;  // those that threads wait for; abort() ends them

  std::mutex sent_mutex_;
  std::condition_variable sent_changed_;
  std::deque<Sent> sent_;
  bool closing_ = false;
  std::thread keeper_;  // started by the first send
};

}  // namespace d9d::comm
