// A test's program is linked with Arrow, and has no libd9d_tables.so beside it.
#include "runtime/data/table/table_readers.hpp"

namespace d9d {

[[maybe_unused]] const TableReaders* const readers_before = set_table_readers(d9d_table_readers());

}  // namespace d9d
