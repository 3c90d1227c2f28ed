#pragma once
// The result of a collective. On a device it may not be there before wait(); on the CPU it is,
// and wait() does nothing.

namespace d9d {

class Communicator;

class [[nodiscard]] Pending {
 public:
  // `late`: the communicator to wait for, which must be alive when wait() is called. Null: the
  // result is in place.
  explicit Pending(Communicator* late) : late_(late) {}
  // Orders all work queued on the current stream from now on behind the result. The host does not wait.
  void wait() const {
    if (late_ != nullptr) wait_for(*late_);
  }

 private:
  static void wait_for(Communicator& late);
  Communicator* late_;
};

}  // namespace d9d
