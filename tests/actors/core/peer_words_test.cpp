#include "actors/core/peer_words.hpp"

#include <gmock/gmock.h>

#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

namespace d9d {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PeerWords, TellASilentPeerFromAClosedConnection) {
  const caf::error lost = caf::exit_reason::remote_link_unreachable;

  EXPECT_THAT(why_gone(lost, 10s, 10s),
              AllOf(HasSubstr("gave no sign of life for 10 s"), HasSubstr("node.heartbeat_ms: raise it")));
  EXPECT_THAT(why_gone(lost, 900ms, 10s), HasSubstr("closed the connection"));
}

TEST(PeerWords, AreNotThoseOfTheLibrary) {
  for (const caf::error& error :
       {caf::error(caf::exit_reason::unhandled_exception), caf::error(caf::sec::cannot_connect_to_node),
        caf::error(caf::sec::disconnect_during_handshake), caf::error(caf::sec::malformed_basp_message)}) {
    for (const std::string& words : {why_gone(error, 1s, 10s), why_unreachable(error)}) {
      EXPECT_THAT(words, AllOf(Not(HasSubstr("exit_reason")), Not(HasSubstr("sec")), Not(HasSubstr("_"))));
    }
  }
}

}  // namespace
}  // namespace d9d
