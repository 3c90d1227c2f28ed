#include "runtime/tokenizer/codec/sentence_piece.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// A build with the library says what is wrong with the file, one without it how to get the library.
TEST(SentencePiece, SaysWhyItCannotReadAFile) {
  const Folder folder;
  const std::string path = folder.write("a.model", "this is no model");

  EXPECT_THAT(test::error_of([&] { Tokenizer::from_file(path); }, ErrorKind::input),
              AllOf(HasSubstr(path), AnyOf(HasSubstr("is not a model of SentencePiece"),
                                           HasSubstr("install libsentencepiece-dev and build again"))));
}

TEST(SentencePiece, MissesAFileThatIsNotThere) {
  EXPECT_THAT(test::error_of([] { Tokenizer::from_file("missing.model"); }, ErrorKind::input),
              HasSubstr("cannot read the tokenizer file missing.model"));
}

}  // namespace
}  // namespace d9d
