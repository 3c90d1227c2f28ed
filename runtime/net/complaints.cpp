#include "runtime/net/complaints.hpp"

#include "runtime/base/log.hpp"

namespace d9d::net {
namespace {

constexpr std::chrono::seconds complaint_window{10};
constexpr int complaints_max = 5;

}  // namespace

void Complaints::add(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - since_ > complaint_window) {
    if (counted_ > 0) log::warn("{} further connections were refused or closed, but not logged", counted_);
    since_ = now;
    written_ = counted_ = 0;
  }
  if (written_ < complaints_max) {
    ++written_;
    return log::warn("{}", text);
  }
  if (counted_++ == 0) log::warn("further refused connections are counted, but not logged one by one");
}

}  // namespace d9d::net
