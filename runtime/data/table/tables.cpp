#include "runtime/data/table/tables.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/host/library_folder.hpp"
#include "runtime/data/table/table_readers.hpp"

namespace d9d {
namespace {

const TableReaders& load_readers(const std::string& file) {
  const std::string library = path_beside_this_library("libd9d_tables.so");
  D9D_REQUIRE(
      std::filesystem::exists(library),
      "{}: this build has no Arrow library, which reads Parquet and Arrow files ({} does not exist); run "
      "`bash .ci/deps` and build again, or write the rows as JSON lines (format: jsonl)",
      file, library);
  // Stays loaded: corpora that it made live on.
  void* const handle = load_library(library, "pyarrow/libparquet.so.");
  D9D_REQUIRE(
      handle != nullptr,
      "{}: the library that reads it cannot be loaded: {}; of a build: run `bash .ci/deps`, of a wheel: "
      "install the extra, 'd9d-node[arrow]'",
      file, dlerror());
  const auto entry = reinterpret_cast<decltype(&d9d_table_readers)>(dlsym(handle, "d9d_table_readers"));
  D9D_REQUIRE(entry != nullptr, "{}: {} is of another version of d9d; build both together", file, library);
  return *entry();
}

std::mutex readers_mutex;
const TableReaders* loaded_readers = nullptr;

const TableReaders& readers(const std::string& file) {
  const std::lock_guard lock(readers_mutex);
  if (loaded_readers == nullptr) loaded_readers = &load_readers(file);
  return *loaded_readers;
}

}  // namespace

const TableReaders* set_table_readers(const TableReaders* chosen) {
  const std::lock_guard lock(readers_mutex);
  return std::exchange(loaded_readers, chosen);
}

void for_each_table_text(const std::string& file, TableFormat format, const std::string& column,
                         const UseTableText& use) {
  readers(file).for_each_text(file, format, column, use);
}

void for_each_table_record(const std::string& file, TableFormat format,
                           const std::vector<std::string>& columns, const UseTableRecord& use) {
  readers(file).for_each_record(file, format, columns, use);
}

void for_each_table_ids(const std::string& file, TableFormat format, const IdColumns& columns,
                        const UseTableIds& use) {
  readers(file).for_each_ids(file, format, columns, use);
}

std::shared_ptr<const TokenCorpus> map_arrow_ids(const std::vector<std::string>& files,
                                                 const std::string& column,
                                                 std::optional<std::int64_t> ids_below,
                                                 const std::optional<std::string>& mask) {
  return readers(files.front()).map_ids(files, column, ids_below, mask);
}

std::vector<std::string> columns_of_table(const std::string& file, TableFormat format) {
  return readers(file).columns(file, format);
}

TableOutline outline_of_table(const std::string& file, TableFormat format) {
  return readers(file).outline(file, format);
}

}  // namespace d9d
