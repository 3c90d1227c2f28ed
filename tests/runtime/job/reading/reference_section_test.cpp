#include "runtime/job/reading/reference_section.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string reference =
    "# All keys\n\nWords.\n\n## Top level\n\n| `mesh` | section |\n| `data` | section |\n\n## `mesh`\n\n"
    "| `mesh.tensor_parallel` | int |\n\n## `data with source: text`\n\nText.\n\n| `data.files` | list |\n"
    "\n## `data.order`\n\n| `data.order.sorted` | section |\n\n## `model with name: a`\n\n| `model.dtype` | "
    "text |\n"
    "\n## `model with name: b`\n\n| `model.dtype` | text |\n";

std::string error_of(const char* section) {
  try {
    return reference_section(reference, section);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ReferenceSection, HasItsTablesAndThoseInIt) {
  EXPECT_EQ(reference_section(reference, "data"),
            "## `data with source: text`\n\nText.\n\n| `data.files` | list |\n"
            "\n## `data.order`\n\n| `data.order.sorted` | section |\n");
  EXPECT_EQ(reference_section(reference, "mesh"), "## `mesh`\n\n| `mesh.tensor_parallel` | int |\n");
}

TEST(ReferenceSection, OfAKeyIsTheTableThatItStandsIn) {
  EXPECT_EQ(reference_section(reference, "mesh.tensor_parallel"), reference_section(reference, "mesh"));
}

TEST(ReferenceSection, GivesTheSameTableOnce) {
  EXPECT_EQ(reference_section(reference, "model"), "## `model with name: a`\n\n| `model.dtype` | text |\n");
}

TEST(ReferenceSection, SuggestsTheNearest) {
  EXPECT_EQ(error_of("dato"), "no section or key is called \"dato\"; did you mean \"data\"?");
  EXPECT_THAT(error_of("x"), HasSubstr("known: "));
  EXPECT_THAT(error_of("dat"), Not(HasSubstr("files")));
}

}  // namespace
}  // namespace d9d
