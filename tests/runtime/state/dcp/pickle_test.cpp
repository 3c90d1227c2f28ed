#include "runtime/state/dcp/pickle.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/state/dcp/golden_dcp.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// pickle.dumps({"steps": [1, -2, 300, 70000, 2**40, -2**40], "rate": 0.5, "on": (True, None)}, protocol=4)
const std::string plain =
    "\x80\x04\x95\x4a\0\0\0\0\0\0\0}\x94(\x8c\x05steps\x94]\x94("
    "K\x01J\xfe\xff\xff\xffM\x2c\x01J\x70\x11\x01\0"
    "\x8a\x06\0\0\0\0\0\x01\x8a\x06\0\0\0\0\0\xff"
    "e\x8c\x04rate\x94G\x3f\xe0\0\0\0\0\0\0\x8c\x02on\x94\x88N\x86\x94u."s;

std::string refusal(const std::string& bytes, const std::set<std::string>& allowed = {}) {
  return error_of([&] { Pickle(bytes, "file", allowed); }, ErrorKind::input);
}

TEST(APickle, HasNumbersTextsAndWhatHoldsThem) {
  const Pickle pickle(plain, "file", {});

  const auto& pairs = pickle.root().pairs;
  ASSERT_EQ(pairs.size(), 6U);
  EXPECT_EQ(pickle.text(*pairs[0], "key"), "steps");
  EXPECT_THAT(pickle.integers(*pairs[1], "steps"),
              ElementsAre(1, -2, 300, 70000, std::int64_t{1} << 40, -(std::int64_t{1} << 40)));
  EXPECT_EQ(pairs[3]->real, 0.5);
  const auto& on = pickle.items(*pairs[5], "on");
  EXPECT_EQ(on[0]->kind, PickleValue::Kind::boolean);
  EXPECT_EQ(on[0]->integer, 1);
  EXPECT_EQ(on[1]->kind, PickleValue::Kind::none);
}

TEST(APickle, CallsNothingAndNamesWhatItWouldCall) {
  const std::string evil =
      "\x80\x02"
      "cos\nsystem\nX\x04\0\0\0true\x85R."s;  // os.system("true")

  EXPECT_THAT(refusal(evil),
              AllOf(HasSubstr("file: byte "), HasSubstr("it names os.system, which is not among"),
                    HasSubstr("neither imported nor called")));
  const Pickle allowed(evil, "file", {"os.system"});
  ASSERT_TRUE(allowed.root().is_object_of("os.system"));
  EXPECT_EQ(allowed.root().items.front()->text, "true");
}

TEST(APickle, ThatIsCutAnywhereIsAnInputError) {
  const std::string metadata = bytes_of(golden_dcp("bad/good"));
  for (std::size_t bytes = 0; bytes < plain.size(); ++bytes)
    EXPECT_THAT(refusal(plain.substr(0, bytes)), HasSubstr("of the pickle: ")) << bytes;
  for (std::size_t bytes = 0; bytes < metadata.size(); ++bytes)
    EXPECT_THAT(refusal(metadata.substr(0, bytes)), HasSubstr("of the pickle: ")) << bytes;
}

TEST(APickle, WithAnyOtherByteIsReadOrRefused) {
  for (std::size_t at = 0; at < plain.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = plain;
      bytes[at] = static_cast<char>(value);
      const std::string refused = refusal(bytes);
      EXPECT_TRUE(refused == "no error" || refused.starts_with("file: byte ")) << refused;
    }
  }
}

TEST(APickle, RefusesWhatNoCheckpointHas) {
  EXPECT_THAT(refusal("\x80\x04I12\n."s), HasSubstr("opcode 0x49, which torch does not write"));
  EXPECT_THAT(refusal("\x80\x04h\x07."s), HasSubstr("it recalls value 7, which it did not store"));
  EXPECT_THAT(refusal("\x80\x04\x8a\x09"s + std::string(9, 'x') + "."), HasSubstr("an integer of 9 bytes"));
  EXPECT_THAT(refusal("\x80\x04NN}R."s), HasSubstr("it calls what is no class and no function"));
}

TEST(APickle, SaysWhichValueIsOfAnotherKind) {
  const Pickle pickle(plain, "file", {});
  const auto& root = pickle.root();

  EXPECT_EQ(error_of([&] { pickle.integer(root, "the step"); }), "file: the step is no integer");
  EXPECT_EQ(error_of([&] { pickle.text(root, "a name"); }), "file: a name is no text");
  EXPECT_EQ(error_of([&] { pickle.items(root, "a shape"); }), "file: a shape is no list");
  EXPECT_EQ(error_of([&] { pickle.member(root, "size"); }), "file: a member size is missing");
}

}  // namespace
}  // namespace d9d::test
