import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found, Reader } from '../reader.ts'
import { linesOf, textOf, textReader } from '../text-file.ts'

const declared = (type: string, name: string, version: string, rule: string, namespace?: string): Found => ({
  type,
  ...(namespace === undefined ? {} : { namespace }),
  name,
  version,
  presence: 'declared',
  rule,
  confidence: 'certain',
})

/** `Podfile.lock`: two blanks before what was chosen, four before what that needs. A subspec is a part of its pod. */
const podfileLock = textReader({
  id: 'podfile-lock',
  path: /(?:^|\/)Podfile\.lock$/,
  *read(text) {
    const seen = new Set<string>()
    let isPods = false
    for (const line of linesOf(text)) {
      if (/^\S/.test(line)) isPods = line === 'PODS:'
      const [, name = '', version = ''] = /^ {2}- "?([\w.+-]+)(?:\/[^ ]+)? \((\d[^()\s]*)\)"?:?$/.exec(line) ?? []
      if (!isPods || name === '' || seen.has(`${name}@${version}`)) continue
      seen.add(`${name}@${version}`)
      yield declared('cocoapods', name, version, 'podfile-lock')
    }
  },
})

/** `zlib/1.2.11@user/channel#revision%time`. Source: docs.conan.io, references */
const CONAN = /^([\w.+-]+)\/([^@#%\s[\]]+)/

/** `conan.lock`: lists since Conan 2, a graph of nodes before. */
const conanLock = textReader({
  id: 'conan-lock',
  path: /(?:^|\/)conan\.lock$/,
  *read(text) {
    const { requires, graph_lock } = parseJsonObject(text)
    const nodes = Object.values((graph_lock as { readonly nodes?: object } | undefined)?.nodes ?? {})
    const references = [requires, nodes.map((node: unknown) => (node as { readonly ref?: unknown } | null)?.ref)]
    for (const reference of references.flat()) {
      const [, name = '', version = ''] = CONAN.exec(textOf(reference)) ?? []
      if (name !== '') yield declared('conan', name, version, 'conan-lock')
    }
  },
})

/** `gradle.lockfile`: `group:name:version=configurations`. Source: docs.gradle.org, dependency locking */
const gradleLock = textReader({
  id: 'gradle-lock',
  path: /(?:^|\/)(?:buildscript-)?gradle\.lockfile$/,
  *read(text) {
    for (const line of linesOf(text)) {
      const [, group = '', name = '', version = ''] = /^([\w.-]+):([\w.-]+):([^:=\s]+)=/.exec(line) ?? []
      if (group !== '') yield declared('maven', name, version, 'gradle-lock', group)
    }
  },
})

/** `.terraform.lock.hcl`. Source: developer.hashicorp.com, dependency lock file */
const terraformLock = textReader({
  id: 'terraform-lock',
  path: /(?:^|\/)\.terraform\.lock\.hcl$/,
  *read(text) {
    let address: readonly string[] = []
    for (const line of linesOf(text)) {
      address = /^provider "([\w.-]+)\/([\w.-]+)\/([\w.-]+)" \{$/.exec(line)?.slice(1) ?? address
      const version = /^ {2}version += "([^"]+)"$/.exec(line)?.[1]
      const [host = '', owner = '', name] = address
      if (version === undefined || name === undefined) continue
      yield declared('terraform', name, version, 'terraform-lock', `${host}/${owner}`)
      address = []
    }
  },
})

/** `deno.lock`: what it takes from npm. Source: docs.deno.com, lock file */
const denoLock = textReader({
  id: 'deno-lock',
  path: /(?:^|\/)deno\.lock$/,
  *read(text) {
    const { npm, packages } = parseJsonObject(text)
    const before = (packages as { readonly npm?: unknown } | undefined)?.npm
    for (const key of Object.keys((npm ?? before ?? {}) as object)) {
      const [, namespace, name = '', version = ''] = /^(?:(@[^/@]+)\/)?([^/@]+)@(\d[^_\s]*)/.exec(key) ?? []
      if (name !== '') yield declared('npm', name, version, 'deno-lock', namespace)
    }
  },
})

/** Locks of CocoaPods, Conan, Gradle, Terraform and Deno. */
export const otherLocks: readonly Reader[] = [podfileLock, conanLock, gradleLock, terraformLock, denoLock]
