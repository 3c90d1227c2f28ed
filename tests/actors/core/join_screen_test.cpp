// What a process that has not joined gets into a node: Join, and nothing that CAF or an actor would act upon.
#include "actors/core/join_screen.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/node_id.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>

#include <gmock/gmock.h>

#include "actors/core/caf_packet.hpp"
#include "messages/cluster.capnp.h"
#include "messages/encode.hpp"

namespace d9d {
namespace {

using caf::io::basp::header;
using caf::io::basp::message_type;
using testing::HasSubstr;
using testing::Optional;

class Config final : public caf::actor_system_config {
 public:
  Config() { add_message_type<Packet>("d9d.packet"); }
};

template <class T>
Frame frame_to(ActorId receiver) {
  return encode<T>({.sender = {Role::node, 7}, .receiver = receiver, .sequence = 1}, [](auto) {});
}

const caf::node_id someone_here = *caf::make_node_id(7, "0123456789abcdef0123456789abcdef01234567");

bool is_known(const caf::node_id& name) {
  return name == someone_here;
}

class JoinScreenTest : public testing::Test {
 protected:
  // CAF keeps an actor whose handle was written until it ends.
  ~JoinScreenTest() override { caf::anon_send_exit(somebody_, caf::exit_reason::user_shutdown); }
  JoinScreen::Trouble trouble_with(message_type operation, std::uint8_t flags = 0,
                                   std::uint32_t payload_bytes = 0) {
    return trouble_with(screen_, header{operation, flags, payload_bytes, 0, 1, 2});
  }
  JoinScreen::Trouble trouble_with(JoinScreen& screen, header head) {
    std::vector<char> bytes;
    caf::binary_serializer sink(system_, bytes);
    EXPECT_FALSE(sink(head));
    EXPECT_EQ(bytes.size(), caf::io::basp::header_size);
    return screen.trouble_with(bytes.data(), bytes.size());
  }
  // As CAF writes a message: those it went through, then itself.
  JoinScreen::Trouble trouble_with(caf::message message) {
    std::vector<char> bytes;
    caf::binary_serializer sink(system_, bytes);
    std::vector<caf::strong_actor_ptr> stages;
    EXPECT_FALSE(sink(stages, message));
    JoinScreen screen(2, is_known);
    EXPECT_EQ(trouble_with(screen, {message_type::direct_message, 0, static_cast<std::uint32_t>(bytes.size()),
                                    0, 1, 2}),
              std::nullopt);
    return screen.trouble_with(bytes.data(), bytes.size());
  }

  Config config_;
  caf::actor_system system_{config_};
  JoinScreen screen_{2, is_known};
  const caf::actor somebody_ = system_.spawn(
      [](caf::event_based_actor*, int /*CAF: none is undefined*/) -> caf::behavior { return {[](int) {}}; },
      0);
  const caf::strong_actor_ptr handle_ = caf::actor_cast<caf::strong_actor_ptr>(somebody_);
};

TEST_F(JoinScreenTest, LetsThroughWhatAJoinNeeds) {
  for (const message_type operation : {message_type::client_handshake, message_type::direct_message,
                                       message_type::monitor_message, message_type::heartbeat})
    EXPECT_EQ(trouble_with(operation), std::nullopt);
  EXPECT_EQ(trouble_with(caf::make_message(Packet{frame_to<wire::Join>({Role::coordinator, 0}), handle_})),
            std::nullopt);
  EXPECT_EQ(trouble_with(caf::make_message(caf::atom("sign?"))), std::nullopt);
}

TEST_F(JoinScreenTest, KeepsOffWhatTellsCafAboutOtherNodesAndServices) {
  for (const message_type operation : {message_type::server_handshake, message_type::routed_message})
    EXPECT_THAT(trouble_with(operation), Optional(HasSubstr("something else than Join")));
  EXPECT_THAT(trouble_with(message_type::direct_message, header::named_receiver_flag),
              Optional(HasSubstr("something else than Join")));
}

// CAF asks every node that it meets, and hears what it has asked for.
TEST_F(JoinScreenTest, LetsCafLearnTheNamesOfNodes) {
  JoinScreen screen(2, is_known);
  const auto names = static_cast<caf::actor_id>(caf::atom("SpawnServ"));
  EXPECT_EQ(trouble_with(screen, {message_type::direct_message, header::named_receiver_flag, 3, 0, 1, names}),
            std::nullopt);
  EXPECT_EQ(screen.trouble_with("any", 3), std::nullopt);
  EXPECT_EQ(trouble_with(screen, {message_type::direct_message, 0, 3, 0, 1, 3}), std::nullopt);
  EXPECT_EQ(screen.trouble_with("any", 3), std::nullopt);
}

// CAF would send what is for the process of that name over the new connection.
TEST_F(JoinScreenTest, KeepsOffWhoTakesTheNameOfAnotherNode) {
  for (const caf::node_id& name :
       {someone_here, *caf::make_node_id(8, "0123456789abcdef0123456789abcdef01234567")}) {
    std::vector<char> bytes;
    caf::binary_serializer sink(system_, bytes);
    ASSERT_FALSE(sink(name));
    JoinScreen screen(2, is_known);
    ASSERT_EQ(trouble_with(screen, {message_type::client_handshake, header::select_connection_flag,
                                    static_cast<std::uint32_t>(bytes.size()), 0, 0, 0}),
              std::nullopt);

    const auto trouble = screen.trouble_with(bytes.data(), bytes.size());

    EXPECT_EQ(trouble.value_or(""),
              name == someone_here ? "it takes the name of a process that is here" : "");
  }
}

// A node that was refused ends, and its CAF says so.
TEST_F(JoinScreenTest, LetsARefusedProcessLeaveWithoutAComplaint) {
  EXPECT_EQ(trouble_with(message_type::down_message), "");
}

TEST_F(JoinScreenTest, KeepsOffMessagesThatEndAnActor) {
  const caf::error reason = caf::exit_reason::kill;
  EXPECT_THAT(trouble_with(caf::make_message(caf::exit_msg{somebody_.address(), reason})),
              Optional(HasSubstr("something else than Join")));
  EXPECT_THAT(trouble_with(caf::make_message(caf::down_msg{somebody_.address(), reason})),
              Optional(HasSubstr("something else than Join")));
  EXPECT_THAT(trouble_with(caf::make_message(caf::atom("sign?"), std::string("and more"))),
              Optional(HasSubstr("something else than Join")));
}

TEST_F(JoinScreenTest, GivesAStrangerNoMemory) {
  EXPECT_THAT(trouble_with(message_type::direct_message, 0, 0xffffffffU),
              Optional(HasSubstr("begins a message of 4294967295 bytes")));
}

TEST_F(JoinScreenTest, KeepsOffWhatIsNoProtocolOfCaf) {
  JoinScreen screen(2, is_known);
  EXPECT_THAT(screen.trouble_with("short", 5), Optional(HasSubstr("not d9d's protocol")));
  ASSERT_EQ(trouble_with(screen, {message_type::direct_message, 0, 3, 0, 1, 2}), std::nullopt);
  EXPECT_THAT(screen.trouble_with("\xff\xff\xff", 3), Optional(HasSubstr("not d9d's protocol")));
}

class ArrivalTest : public JoinScreenTest {
 protected:
  bool accepts(Packet& packet, bool member, const caf::node_id& peer) {
    const Connection connection(42, member);
    return accept_arrival(packet.frame, packet.attached, {connection, peer});
  }
  Packet join() const { return {frame_to<wire::Join>({Role::coordinator, 0}), handle_}; }
};

TEST_F(ArrivalTest, OfAMemberIsNotedAndTaken) {
  Packet packet{frame_to<wire::StopNode>({Role::node, 0}), nullptr};

  EXPECT_TRUE(accepts(packet, true, system_.node()));

  EXPECT_EQ(packet.frame.connection(), 42U);
}

TEST_F(ArrivalTest, OfAStrangerIsJoinAloneWithAHandleOfItsOwn) {
  Packet good = join(), stop{frame_to<wire::StopNode>({Role::node, 0}), handle_},
         elsewhere{frame_to<wire::Join>({Role::node, 0}), handle_}, without = join(), garbage = join();
  without.attached = nullptr;
  garbage.frame = Frame(std::vector<capnp::word>(3));

  EXPECT_TRUE(accepts(good, false, system_.node()));
  for (Packet* bad : {&stop, &elsewhere, &without, &garbage})
    EXPECT_FALSE(accepts(*bad, false, system_.node()));
  EXPECT_FALSE(accepts(good, false, someone_here)) << "the handle of somebody else";
}

}  // namespace
}  // namespace d9d
