import { cpio, deb, rpm, tar } from './archives/archives.ts'
import { asar } from './archives/asar.ts'
import { compressed } from './archives/compressed.ts'
import { phar } from './archives/phar.ts'
import { script } from './archives/script.ts'
import { unknown } from './archives/unknown.ts'
import { zip } from './archives/zip.ts'
import { singleFile } from './dotnet/single-file.ts'
import { nativeImage } from './java/native-image.ts'
import { pyInstaller } from './python/pyinstaller.ts'
import type { Unpacker } from './reader.ts'

/** Everything that takes archives apart. An .apk is three gzip members, a layer of an image a tar. */
export const UNPACKERS: readonly Unpacker[] = [
  zip,
  compressed,
  tar,
  cpio,
  deb,
  rpm,
  asar,
  script,
  phar,
  pyInstaller,
  singleFile,
  nativeImage,
  unknown,
]
