#include "runtime/net/dial.hpp"

#include <algorithm>
#include <array>

#include "runtime/net/fail.hpp"

namespace d9d::net {
namespace {

const char* const other_version = "the program that answers there is no d9d-node of this version";

[[noreturn]] void fail_of(const Channel& channel) {
  fail_environment(channel.failure().empty() ? "it accepts connections but does not answer in time"
                                             : channel.failure());
}

// One connection, until the other side has answered.
class Attempt {
 public:
  Attempt(const DialOptions& options, const Secrets& secrets) : options_(options), secrets_(secrets) {
    channel_ = make_channel(connect_to(options.host, options.port, options.deadline, options.cancel),
                            options.tls, Side::dials);
    if (!shake_hands_fully(*channel_, options.deadline, options.cancel)) fail_of(*channel_);
  }

  Answer ask() {
    Hello hello = options_.hello;
    hello.secret = secrets_.kind();
    hello.nonce = fresh_nonce();
    said_.hello = frame_of(hello);
    // Ignores a failure of this write: a side that refuses may have closed already, and its reason is
    // still to be read.
    say(said_.hello);
    auto head = read_head();
    if (is_challenge(head.data())) {
      prove(bytes_from(read_body(proof_body_bytes)));
      head = read_head();
    }
    const Answer answer = read_answer(head);
    if (answer.verdict == Verdict::yes) require_proof();
    return answer;
  }

  std::unique_ptr<Channel> take_channel() { return std::move(channel_); }

 private:
  using Head = std::array<std::byte, hello_head_bytes>;

  void prove(const Nonce& challenge) {
    key_ = secrets_.key_for(options_.hello.purpose);
    if (!key_) fail_environment("this process is no member of the job yet");
    said_.challenge = challenge;
    said_.binding = channel_->binding();
    say(proof_frame(proof_of(*key_, Side::dials, said_)));
  }

  Answer read_answer(const Head& head) {
    const auto bytes = answer_body_bytes(head.data());
    if (!bytes) fail_environment(other_version);
    const auto answer = answer_from(read_body(*bytes));
    if (!answer) fail_environment(other_version);
    return *answer;
  }

  // The other side must prove the secret, too, or a stranger could say yes to every hello.
  void require_proof() {
    const Head head = read_head();
    if (!is_proof(head.data())) fail_environment(other_version);
    const Proof proof = bytes_from(read_body(proof_body_bytes));
    if (key_ && same(proof, proof_of(*key_, Side::accepts, said_))) return;
    throw StrangerError("the process that answers there does not know this job's secret");
  }

  void say(const std::string& frame) {
    write_fully(*channel_, frame.data(), frame.size(), options_.deadline, options_.cancel);
  }
  Head read_head() {
    Head head{};
    if (!read_fully(*channel_, head.data(), head.size(), options_.deadline, options_.cancel))
      fail_of(*channel_);
    return head;
  }
  std::vector<std::byte> read_body(std::size_t bytes) {
    std::vector<std::byte> body(bytes);
    if (!read_fully(*channel_, body.data(), body.size(), options_.deadline, options_.cancel))
      fail_of(*channel_);
    return body;
  }

  const DialOptions& options_;
  const Secrets& secrets_;
  std::unique_ptr<Channel> channel_;
  std::optional<Key> key_;  // none until the other side has sent its challenge
  Said said_;
};

}  // namespace

std::unique_ptr<Channel> dial(const DialOptions& options) {
  const Secrets none;
  while (true) {
    Attempt attempt(options, options.secrets != nullptr ? *options.secrets : none);
    const Answer answer = attempt.ask();
    if (answer.verdict == Verdict::yes) return attempt.take_channel();
    if (answer.verdict == Verdict::no) fail_environment(answer.reason);
    if (answer.verdict == Verdict::stranger) throw StrangerError(answer.reason);
    const auto again = std::min(options.deadline, std::chrono::steady_clock::now() + options.redial_after);
    if (again == options.deadline) fail_environment("it is there but does not take part in the job yet");
    wait_for(-1, 0, again, options.cancel);
  }
}

}  // namespace d9d::net
