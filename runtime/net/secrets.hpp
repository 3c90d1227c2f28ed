#pragma once
// The secrets that a process can prove and that it demands from others. A process that joins must
// know the job's secret. A member must also know the random secret that node 0 has sent to all
// members. One per gate. Thread-safe.

#include <mutex>
#include <optional>
#include <string>

#include "runtime/net/hello.hpp"

namespace d9d::net {

class Secrets {
 public:
  // `awaits_membership`: this process becomes a member only by enter_membership(). Otherwise the
  // job's secret is enough.
  explicit Secrets(const Secret& job = {}, bool awaits_membership = false);

  void enter_membership(const std::string& secret);
  bool is_member() const;
  SecretKind kind() const { return kind_; }
  // Returns the key that proofs for this purpose need, or none if this process is no member yet.
  std::optional<Key> key_for(Purpose purpose) const;
  // Explains to both sides why the proof for a hello is wrong.
  std::string why_stranger(const Hello& hello) const;

 private:
  const SecretKind kind_;
  const Key job_;
  mutable std::mutex mutex_;
  std::optional<Key> member_;
};

}  // namespace d9d::net
