# Install rules come with libd9d.so (see actors/CMakeLists.txt).
