#pragma once
// What the work that a thread gives to devices belongs to: an action ("2F3"), a collective in it. Errors of work that
// runs late name it, because by then the call that gave it has returned.

#include <string>
#include <string_view>

namespace d9d {

// Until the scope ends; inside of another scope both are named: "2F3, all_reduce of tp[0,1]".
class WorkName {
 public:
  explicit WorkName(std::string_view name);
  ~WorkName();
  WorkName(const WorkName&) = delete;
  WorkName& operator=(const WorkName&) = delete;

  // Of this thread; "" outside of all scopes. It lives as long as the process.
  static const std::string& current();

 private:
  const std::string* const previous_;
};

}  // namespace d9d
