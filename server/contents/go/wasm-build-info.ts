import { malformed } from '../../lib/limited.ts'
import { bytesOf, sectionOf, type Image } from '../binary/image.ts'
import type { BuildInfo } from './find-build-info.ts'

/** What stands before and behind the modules, in every program of Go. Source: cmd/go/internal/modload, ModInfoData */
const [BEGIN, END] = [
  Buffer.from('3077af0c9274080241e1c107e6d618e6', 'hex'),
  Buffer.from('f932433186182072008242104116d8f2', 'hex'),
]
const WINDOW = 2 ** 20
const MOST_MODULES = 16 * 2 ** 20
const MOST_PRODUCERS = 64 * 1024

/** The release of Go that the section `producers` names. Source: the tool conventions of WebAssembly, "Producers" */
async function releaseIn(image: Image): Promise<string | undefined> {
  const section = sectionOf(image, 'producers')
  if (section === undefined) return undefined
  // the name `Go` with its length before it, then the version with its own
  return /[^ -~]Go.(go1[\w.+ -]*)/s.exec((await bytesOf(image, section, MOST_PRODUCERS)).toString('latin1'))?.[1]
}

/** The modules between their marks; empty where there are none. @throws Malformed when they have no end */
async function modulesIn({ file, segments }: Image): Promise<string> {
  for (const { offset, size } of segments)
    for (let from = offset; from < offset + size; from += WINDOW) {
      const at = (await file.read(from, WINDOW + BEGIN.length)).indexOf(BEGIN)
      if (at === -1) continue
      const text = await file.read(from + at + BEGIN.length, MOST_MODULES)
      const end = text.indexOf(END)
      return end === -1 ? malformed('the build information of Go in it has no end') : text.toString('utf8', 0, end)
    }
  return ''
}

/** A module of WebAssembly has no header before its build information; undefined where Go did not make it. */
export async function wasmBuildInfo(image: Image): Promise<BuildInfo | undefined> {
  const goVersion = await releaseIn(image)
  return goVersion === undefined ? undefined : { goVersion, modules: await modulesIn(image) }
}
