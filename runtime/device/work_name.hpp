#pragma once
// Names the work that a thread queues on devices: an action ("2F3"), a collective in it. Errors of late work
// contain the name, because the call that queued the work has returned by then.

#include <string>
#include <string_view>

namespace d9d {

// Sets the name until the scope ends. Nested scopes add up: "2F3, all_reduce of tp[0,1]".
class WorkName {
 public:
  explicit WorkName(std::string_view name);
  ~WorkName();
  WorkName(const WorkName&) = delete;
  WorkName& operator=(const WorkName&) = delete;

  // Returns the name of this thread, "" outside of all scopes. The text lives as long as the process.
  static const std::string& current();

 private:
  const std::string* const previous_;
};

}  // namespace d9d
