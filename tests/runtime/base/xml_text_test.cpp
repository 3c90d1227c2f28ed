#include "runtime/base/xml_text.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(XmlText, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(xml_text("<script>alert(\"1\")</script> & 'so'"),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;so&#39;");
}

TEST(XmlText, KeepsLettersOfAllLanguagesAndLinesButNoControlCharacters) {
  EXPECT_EQ(xml_text("\u00dcber\nalles\x01\x1b[1m"), "\u00dcber\nalles  [1m");
}

}  // namespace
}  // namespace d9d
