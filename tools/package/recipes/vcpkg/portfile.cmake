# vcpkg: the libraries alone, without programs. Not built here.
vcpkg_download_distfile(ARCHIVE URLS "@URL@" FILENAME "weft-@VERSION@.tar.gz" SHA512 "@SHA512@")
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  -DWEFT_ISAS=all -DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_PROGRAMS=OFF -DWEFT_BUILD_SERVER=OFF -DWEFT_BUILD_PYTHON=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/weft)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
