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

std::string section_error(const char* section) {
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
  EXPECT_EQ(section_error("dato"), "no section or key is called \"dato\"; did you mean \"data\"?");
  EXPECT_THAT(section_error("x"), HasSubstr("known: "));
  EXPECT_THAT(section_error("dat"), Not(HasSubstr("files")));
}

TEST(ReferenceWithoutRepeats, LinksASectionAndARowToWhereTheyAreSaid) {
  const std::string whole =
      "Words.\n\n## Top level\n\n| key |\n|---|\n| `front` | before |\n| `back` | behind |\n"
      "\n## `front with kind: a`\n\n| key |\n|---|\n| `front.wheel` | int |\n"
      "\n## `back with kind: a`\n\n| key |\n|---|\n| `back.wheel` | int |\n"
      "\n## `light with name: a`\n\nBright.\n\n| key |\n|---|\n| `light.lamp` | text |\n"
      "\n## `light with name: b`\n\n| key |\n|---|\n| `light.lamp` | text |\n| `light.dim` | bool |\n"
      "\n## `light with name: c`\n\n| key |\n|---|\n| `light.lamp` | text |\n";

  EXPECT_EQ(without_repeats(whole),
            "Words.\n\n## Top level\n\n| key |\n|---|\n| `front` | before |\n"
            "| `back` | behind; as [`front`](#front-with-kind-a) |\n"
            "\n## `front with kind: a`\n\n| key |\n|---|\n| `front.wheel` | int |\n"
            "\n## `light with name: a`\n\nBright.\n\n| key |\n|---|\n| `light.lamp` | text |\n"
            "\n## `light with name: b`\n\n| key |\n|---|\n| `light.dim` | bool |\n"
            "\nAs above: [`light.lamp`](#light-with-name-a).\n"
            "\n## `light with name: c`\n\nAs above: [`light.lamp`](#light-with-name-a).\n");
}

TEST(ReferenceWithoutRepeats, IsTheReferenceWhereNothingRepeats) {
  const std::string mesh =
      "Words.\n\n## `mesh`\n\n| key |\n|---|\n| `mesh.a` | int |\n\n## `node`\n\nNo further keys.\n";

  EXPECT_EQ(without_repeats(mesh), mesh);
}

}  // namespace
}  // namespace d9d
