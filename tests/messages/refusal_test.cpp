// What comes from outside is refused with the right reason and never crashes.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "messages/cluster.capnp.h"
#include "tests/messages/every_message.hpp"
#include "tests/messages/read_bytes.hpp"

namespace d9d {
namespace {

using Reason = Refused::Reason;
using test::every_message;

std::vector<std::byte> bytes_of(const Frame& frame) {
  return {frame.bytes().begin(), frame.bytes().end()};
}

void open(const std::vector<std::byte>& bytes) {
  const Frame frame = Frame::from_bytes(bytes, Limits{}.bytes_max);
  const Decoded decoded(frame);
}

template <class Body>
std::optional<Reason> reason_of(Body&& body) {
  try {
    body();
    return std::nullopt;
  } catch (const Refused& refused) {
    return refused.reason();
  }
}

TEST(Refusals, AMessageCutShortAnywhereIsRefusedAsCutShort) {
  for (const auto& kind : every_message()) {
    const std::vector<std::byte> whole = bytes_of(kind.encode(test::sample_header()));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));

      EXPECT_EQ(reason_of([&] { open(part); }), Reason::truncated)
          << kind.name << " after " << length << " bytes";
    }
  }
}

TEST(Refusals, AnyFlippedBitIsEitherReadOrRefused) {
  for (const auto& kind : every_message()) {
    std::vector<std::byte> bytes = bytes_of(kind.encode(test::sample_header()));
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const auto mask = std::byte(1U << (bit % 8));
      bytes[bit / 8] ^= mask;
      EXPECT_NO_THROW(test::read_bytes(bytes)) << kind.name << " bit " << bit;
      bytes[bit / 8] ^= mask;
    }
  }
}

TEST(Refusals, TooLargeAMessageIsRefusedBeforeItIsCopied) {
  const std::vector<std::byte> bytes(1024);

  EXPECT_EQ(reason_of([&] { Frame::from_bytes(bytes, 1000); }), Reason::too_large);
}

TEST(Refusals, TooLargeAFrameIsRefusedWithBothSizes) {
  const Frame frame = encode<wire::Stop>(
      {}, [](wire::Stop::Builder stop) { stop.setReason(std::string(Limits{}.bytes_max, 'x')); });

  try {
    const Decoded decoded(frame);
    FAIL() << "a message above the limit was opened";
  } catch (const Refused& refused) {
    EXPECT_EQ(refused.reason(), Reason::too_large);
    EXPECT_NE(std::string(refused.what()).find(std::to_string(Limits{}.bytes_max)), std::string::npos)
        << refused.what();
  }
}

TEST(Refusals, ANodeMayPassOnWhatIsTooLargeForItself) {
  const Frame frame = encode<wire::Stop>(
      {.receiver = {Role::rank_executor, 3}},
      [](wire::Stop::Builder stop) { stop.setReason(std::string(Limits{}.bytes_max, 'x')); });

  EXPECT_EQ(peek_header(frame).receiver, (ActorId{Role::rank_executor, 3}));
}

TEST(Refusals, PointersDeeperThanTheLimitAreNotFollowed) {
  const Frame frame = encode<wire::Welcome>(
      {}, [](wire::Welcome::Builder welcome) { welcome.initNodes(1)[0].setHost("here"); });

  const Decoded deep_enough(frame, {.nesting_max = 16});
  const Decoded too_deep(frame, {.nesting_max = 2});

  EXPECT_EQ(std::string(deep_enough.body<wire::Welcome>().getNodes()[0].getHost()), "here");
  EXPECT_THROW(std::string(too_deep.body<wire::Welcome>().getNodes()[0].getHost()), kj::Exception);
}

TEST(Refusals, ListsThatClaimMoreThanTheFrameHoldsAreNotFollowed) {
  std::vector<std::byte> bytes = bytes_of(encode<wire::Welcome>({}, [](wire::Welcome::Builder welcome) {
    for (auto node : welcome.initNodes(2)) node.setHost("h");
  }));
  const std::size_t refused_before = test::read_bytes(bytes).refused;

  // Every word in turn becomes a list pointer to itself of 2^29 - 1 elements without size.
  std::size_t refused = 0;
  for (std::size_t word = 1; word < bytes.size() / 8; ++word) {
    std::vector<std::byte> hostile = bytes;
    const std::uint64_t pointer = 0xFFFFFFF8'FFFFFFFDULL;
    std::memcpy(hostile.data() + word * 8, &pointer, 8);
    refused += test::read_bytes(hostile).refused;
  }

  EXPECT_EQ(refused_before, 0U);
  EXPECT_GT(refused, 0U);
}

TEST(Refusals, AnEmptyFrameIsCutShort) {
  const Frame nothing;

  EXPECT_EQ(reason_of([&] { const Decoded decoded(nothing); }), Reason::truncated);
  EXPECT_EQ(reason_of([] { Frame::from_bytes({}, 100); }), Reason::truncated);
}

TEST(Refusals, EveryReasonHasAName) {
  for (const Reason reason : {Reason::too_large, Reason::truncated, Reason::malformed, Reason::unknown_type,
                              Reason::wrong_epoch, Reason::repeated}) {
    EXPECT_STRNE(name_of(reason), "unknown");
  }
}

TEST(Refusals, EveryHostileFrameOfTheCorpusIsRefused) {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(D9D_SOURCE_DIR "/tests/messages/corpus")) {
    if (file.path().extension() != ".bin") continue;
    ++files;
    EXPECT_EQ(test::read_bytes(test::bytes_of_file(file.path())).refused, 1U) << file.path();
  }
  EXPECT_GE(files, 6U);
}

}  // namespace
}  // namespace d9d
