#include "runtime/live/live_page.hpp"

#include <gmock/gmock.h>

namespace d9d::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The digest by Python: base64.b64encode(hashlib.sha256(b"alert(1)").digest()).
TEST(ContentPolicy, AllowsOneScriptAndNoFrame) {
  EXPECT_THAT(content_policy("alert(1)"),
              AllOf(HasSubstr("script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"),
                    HasSubstr("frame-ancestors 'none'"), HasSubstr("default-src 'none'"),
                    HasSubstr("form-action 'self'")));
  EXPECT_THAT(content_policy("alert(2)"), Not(HasSubstr("bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=")));
}

}  // namespace
}  // namespace d9d::live
