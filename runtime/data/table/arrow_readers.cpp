#include "runtime/data/table/table_readers.hpp"

extern "C" const d9d::TableReaders* d9d_table_readers() {
  using namespace d9d::arrow_tables;
  static constexpr d9d::TableReaders readers{for_each_text, for_each_record, for_each_ids,
                                             map_ids,       columns,         outline};
  return &readers;
}
