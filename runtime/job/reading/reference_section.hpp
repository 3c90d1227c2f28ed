#pragma once
// The reference of all keys: a part of it, and all of it without repeats.

#include <string>
#include <string_view>

namespace d9d {

// Of `reference` (Markdown, as job_reference() writes it) the tables of the section and of those in it: "trainer",
// "trainer.batching", "optimizer"; of a key the table that it stands in. Tables of one text are given once.
// Input error for a section that is not there, with the nearest.
std::string reference_section(std::string_view reference, std::string_view section);

// `reference` with each section and each row once. A section that says what an earlier one says is a link in the row of
// its key, and a row that an earlier choice has (`lr` of every optimizer) a link below the table.
std::string without_repeats(std::string_view reference);

}  // namespace d9d
