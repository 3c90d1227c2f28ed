#include "runtime/net/dial.hpp"

#include <algorithm>
#include <array>

#include "runtime/net/fail.hpp"

namespace d9d::net {
namespace {

constexpr std::chrono::milliseconds redial_after{50};

[[noreturn]] void fail_of(const Channel& channel) {
  fail_environment(channel.failure().empty() ? "it accepts connections but does not answer in time"
                                             : channel.failure());
}

Answer read_answer(Channel& channel, const DialOptions& options) {
  std::array<std::byte, hello_head_bytes> head{};
  if (!read_fully(channel, head.data(), head.size(), options.deadline, options.cancel)) fail_of(channel);
  const auto bytes = answer_body_bytes(head.data());
  if (!bytes) fail_environment("what answers there is no d9d-node of this version");
  std::vector<std::byte> body(*bytes);
  if (!read_fully(channel, body.data(), body.size(), options.deadline, options.cancel)) fail_of(channel);
  const auto answer = answer_from(body);
  if (!answer) fail_environment("what answers there is no d9d-node of this version");
  return *answer;
}

}  // namespace

std::unique_ptr<Channel> dial(const DialOptions& options) {
  const std::string frame = frame_of(options.hello);
  while (true) {
    auto channel = make_channel(connect_to(options.host, options.port, options.deadline, options.cancel),
                                options.tls, Side::dials);
    if (!shake_hands_fully(*channel, options.deadline, options.cancel)) fail_of(*channel);
    // One who refuses may have closed already; his reason is read all the same.
    write_fully(*channel, frame.data(), frame.size(), options.deadline, options.cancel);
    const Answer answer = read_answer(*channel, options);
    if (answer.verdict == Verdict::yes) return channel;
    if (answer.verdict == Verdict::no) fail_environment(answer.reason);
    const auto again = std::min(options.deadline, std::chrono::steady_clock::now() + redial_after);
    if (again == options.deadline) fail_environment("it is there but does not take part in the job yet");
    wait_for(-1, 0, again, options.cancel);
  }
}

}  // namespace d9d::net
