#pragma once
// What a conversion still has to do, handed to its threads piece by piece, in the order of the plan.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/convert/box_cursor.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"

namespace d9d {

// One box of one output; or, without an output, a group that has to be applied as a whole.
struct ConversionPiece {
  const StateGroup* group = nullptr;
  std::shared_ptr<const TensorMap> shapes;  // of the group's inputs
  TensorSpec output;
  Slice box;

  bool is_whole_group() const { return output.name.empty(); }
};

class ConversionQueue {
 public:
  struct Item {
    const StateGroup* group;
    std::vector<TensorSpec> outputs;  // those that are to be made
  };

  // All outlive the queue. A box has at most `box_bytes` bytes on either side.
  ConversionQueue(const TensorSource& source, const StateMapper& mapper, std::vector<Item> items,
                  std::uint64_t box_bytes);

  // Thread-safe, as cancel() is. Nothing when all was handed out, or after cancel().
  std::optional<ConversionPiece> next();
  void cancel();

 private:
  // Of an output in boxes, or of a group as a whole where it has none.
  struct Part {
    ConversionPiece piece;
    std::optional<BoxCursor> boxes;
  };
  void split(const Item& item);
  bool moves(const StateGroup& group, const TensorSpec& output, const TensorMap& shapes) const;

  const TensorSource& source_;
  const StateMapper& mapper_;
  const std::vector<Item> items_;
  const std::uint64_t box_bytes_;
  std::mutex mutex_;  // guards what follows
  std::size_t next_item_ = 0;
  std::vector<Part> parts_;  // of the item before next_item_, the first one last
};

TensorMap shapes_of(const TensorSource& source, const StateGroup& group);

}  // namespace d9d
