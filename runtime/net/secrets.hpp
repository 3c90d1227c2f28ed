#pragma once
// What a process of a job can prove, and asks to be proved: who joins knows the job's secret, who is a member knows
// besides it what node 0 has told all members when the job formed. One per gate. Thread-safe.

#include <mutex>
#include <optional>
#include <string>

#include "runtime/net/hello.hpp"

namespace d9d::net {

class Secrets {
 public:
  // `awaits_membership`: before enter_membership() this process is no member; else the job's secret makes it one.
  explicit Secrets(const Secret& job = {}, bool awaits_membership = false);

  void enter_membership(const std::string& secret);
  bool is_member() const;
  SecretKind kind() const { return kind_; }
  // Nothing: this process is no member yet.
  std::optional<Key> key_for(Purpose purpose) const;
  // Of a hello whose proof is wrong, for both sides to read.
  std::string why_stranger(const Hello& hello) const;

 private:
  const SecretKind kind_;
  const Key job_;
  mutable std::mutex mutex_;
  std::optional<Key> member_;
};

}  // namespace d9d::net
