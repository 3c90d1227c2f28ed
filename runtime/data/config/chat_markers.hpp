#pragma once
// Keys for the messages of a conversation: the markers of a role, and which messages
// count in the loss.

#include <array>
#include <boost/describe.hpp>
#include <string>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct RoleMarkers {
  std::string prefix;
  std::string suffix;
};
BOOST_DESCRIBE_STRUCT(RoleMarkers, (), (prefix, suffix))
constexpr auto keys_of(config::Tag<RoleMarkers>) {
  return std::array{config::Key{"prefix", "", "text before a message of the role"},
                    config::Key{"suffix", "", "text after it; it counts in the loss where the message does"}};
}

enum class ChatLoss { all, last_answer };
BOOST_DESCRIBE_ENUM(ChatLoss, all, last_answer)

}  // namespace d9d
