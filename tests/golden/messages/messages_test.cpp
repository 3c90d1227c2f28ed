// No message changes its bytes unnoticed; those that another build reads (Join, Refused) may only grow at their end.
// D9D_GOLDEN_WRITE=1 adds the files of messages that have none yet; it never changes one that is there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/messages/every_message.hpp"
#include "tests/messages/read_bytes.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using test::MessageKind;

const std::filesystem::path golden_folder = D9D_SOURCE_DIR "/tests/golden/messages";

void write_first_version(const MessageKind& kind) {
  if (std::filesystem::exists(golden_folder / (kind.name + ".bin"))) return;
  const Frame frame = kind.encode(test::sample_header());
  std::ofstream(golden_folder / (kind.name + ".bin"), std::ios::binary)
      .write(reinterpret_cast<const char*>(frame.bytes().data()),
             static_cast<std::streamsize>(frame.size_bytes()));
  std::ofstream(golden_folder / (kind.name + ".txt")) << test::dump(Decoded(frame), kind) << "\n";
}

TEST(GoldenMessages, BytesOfTheFirstVersionReadAsTheSameValues) {
  for (const MessageKind& kind : test::every_message()) {
    SCOPED_TRACE(kind.name);
    if (std::getenv("D9D_GOLDEN_WRITE") != nullptr) write_first_version(kind);
    const auto bytes = test::bytes_of_file(golden_folder / (kind.name + ".bin"));
    ASSERT_FALSE(bytes.empty()) << "no bytes of a first version; write them with D9D_GOLDEN_WRITE=1";

    const Frame frame = Frame::from_bytes(bytes, Limits{}.bytes_max);
    const Decoded decoded(frame);

    EXPECT_EQ(decoded.type(), kind.type);
    EXPECT_EQ(decoded.header().sequence, test::sample_header().sequence);
    EXPECT_EQ(test::dump(decoded, kind) + "\n", test::text_of_file(golden_folder / (kind.name + ".txt")));
  }
}

}  // namespace
}  // namespace d9d
