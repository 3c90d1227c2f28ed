#include "runtime/data/corpus/document_places.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

TEST(DocumentPlaces, AreThoseThatWereAdded) {
  const std::vector<RowPlace> added{{"a", 1, true},  {"a", 2, true},  {"a", 5, true}, {"b", 6, true},
                                    {"b", 0, false}, {"b", 1, false}, {"a", 2, false}};
  DocumentPlaces places;
  for (const RowPlace& place : added) places.add(place);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const RowPlace place = places.at(i).value();
    EXPECT_EQ(text_of(place), text_of(added[i])) << i;
  }
  EXPECT_FALSE(places.at(added.size()));
}

}  // namespace
}  // namespace d9d
