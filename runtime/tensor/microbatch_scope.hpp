#pragma once
// Which microbatch the current thread computes. A module that draws random numbers in forward derives them
// from this place: a recomputed forward then draws the same, and a resumed job what an unbroken one would have
// drawn. No torch in this header.

#include <cstdint>

namespace d9d {

struct MicrobatchPlace {
  std::uint64_t seed = 0;  // of the job, another one on each rank: ranks have other samples
  std::uint64_t step = 0;
  int microbatch = 0;
};

class MicrobatchScope {
 public:
  // `place` is current on this thread until the scope ends; scopes nest.
  explicit MicrobatchScope(MicrobatchPlace place);
  ~MicrobatchScope();
  MicrobatchScope(const MicrobatchScope&) = delete;
  MicrobatchScope& operator=(const MicrobatchScope&) = delete;

  // All zero where no scope is open.
  static const MicrobatchPlace& current();

 private:
  const MicrobatchPlace previous_;
};

}  // namespace d9d
