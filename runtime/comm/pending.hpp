#pragma once
// The result of a collective that may not be there yet. Between ranks of the CPU it is there, and waiting is nothing.

namespace d9d {

class Communicator;

class [[nodiscard]] Pending {
 public:
  // Null: the result is in place. The communicator outlives the call of wait().
  explicit Pending(Communicator* late) : late_(late) {}
  // What the current stream is given from now on runs behind the result. The host does not wait.
  void wait() const {
    if (late_ != nullptr) wait_for(*late_);
  }

 private:
  static void wait_for(Communicator& late);
  Communicator* late_;
};

}  // namespace d9d
