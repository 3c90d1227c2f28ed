// Test binaries leave as d9d-node does.
#include "runtime/base/host/leave_at_once.hpp"

namespace {

// Before all statics of the binary, whose destructors may remove files.
[[gnu::constructor(101)]] void leave_at_once() {
  d9d::leave_at_once_on_exit();
}

}  // namespace
