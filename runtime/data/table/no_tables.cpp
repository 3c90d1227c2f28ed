// Instead of the other sources of this folder where Arrow's library was missing.
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {
namespace {

[[noreturn]] void refuse_table(const std::string& file) {
  throw Error(ErrorKind::input,
              fmt::format("{}: this build has no Arrow library, which reads Parquet and Arrow files; run "
                          "`bash .ci/deps` and build again, or write the rows as JSON lines (format: jsonl)",
                          file));
}

}  // namespace

void for_each_table_text(const std::string& file, TableFormat, const std::string&, const UseTableText&) {
  refuse_table(file);
}

void for_each_table_record(const std::string& file, TableFormat, const std::vector<std::string>&,
                           const UseTableRecord&) {
  refuse_table(file);
}

void for_each_table_ids(const std::string& file, TableFormat, const IdColumns&, const UseTableIds&) {
  refuse_table(file);
}

std::shared_ptr<const TokenCorpus> map_arrow_ids(const std::vector<std::string>& files, const std::string&,
                                                 std::optional<std::int64_t>) {
  refuse_table(files.front());
}

TableOutline outline_of_table(const std::string& file, TableFormat) {
  refuse_table(file);
}

}  // namespace d9d
