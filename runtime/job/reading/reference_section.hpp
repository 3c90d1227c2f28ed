#pragma once
// A part of the reference of all keys.

#include <string>
#include <string_view>

namespace d9d {

// Of `reference` (Markdown, as job_reference() writes it) the tables of the section and of those in it: "trainer",
// "trainer.batching", "optimizer"; of a key the table that it stands in. Tables of one text are given once.
// Input error for a section that is not there, with the nearest.
std::string reference_section(std::string_view reference, std::string_view section);

}  // namespace d9d
