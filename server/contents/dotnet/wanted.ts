import { fieldsOf, isFields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Reader } from '../reader.ts'
import { linesOf, textOf, textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { nugetFound } from './nuget-found.ts'

/** `packages.lock.json`. Source: learn.microsoft.com, NuGet, "Locking dependencies" */
const packagesLock = textReader({
  id: 'nuget-lock',
  path: /(?:^|\/)packages(?:\.[^/]+)?\.lock\.json$/,
  *read(text) {
    for (const framework of Object.values(fieldsOf(parseJsonObject(text).dependencies)))
      for (const [name, entry] of Object.entries(fieldsOf(framework)))
        if (isFields(entry) && entry.type !== 'Project')
          yield* nugetFound(name, textOf(entry.resolved), { presence: 'declared', rule: 'nuget-lock' })
  },
})

/** `packages.config` of old projects: an element a line. */
const packagesConfig = textReader({
  id: 'nuget-packages-config',
  path: /(?:^|\/)packages\.config$/,
  *read(text) {
    for (const line of linesOf(text)) {
      const element = line.slice(line.lastIndexOf('<package '))
      if (!element.startsWith('<package ')) continue
      const attribute = (key: string): string => new RegExp(` ${key}="([^">]*)"`).exec(element)?.[1] ?? ''
      yield* nugetFound(attribute('id'), attribute('version'), {
        presence: 'declared',
        rule: 'nuget-packages-config',
        ...(attribute('developmentDependency') === 'true' ? { unasked: FOR_DEVELOPMENT } : {}),
      })
    }
  },
})

/** `obj/project.assets.json`: what a restore chose. */
const projectAssets = textReader({
  id: 'nuget-assets',
  path: /(?:^|\/)project\.assets\.json$/,
  *read(text) {
    for (const [key, entry] of Object.entries(fieldsOf(parseJsonObject(text).libraries))) {
      const [name = '', version = ''] = key.split('/')
      if (isFields(entry) && entry.type === 'package')
        yield* nugetFound(name, version, { presence: 'declared', rule: 'nuget-assets' })
    }
  },
})

/** `*.runtimeconfig.json`: the frameworks that a program looks for; its own, where it brings them. */
const runtimeConfig = textReader({
  id: 'dotnet-runtimeconfig',
  path: /\.runtimeconfig\.json$/,
  *read(text) {
    const { framework, frameworks, includedFrameworks } = fieldsOf(parseJsonObject(text).runtimeOptions)
    for (const one of [framework, frameworks, includedFrameworks].flat()) {
      const { name, version } = fieldsOf(one)
      yield* nugetFound(textOf(name), textOf(version), { presence: 'declared', rule: 'dotnet-runtimeconfig' })
    }
  },
})

/** What .NET projects want. */
export const wantedReaders: readonly Reader[] = [packagesLock, packagesConfig, projectAssets, runtimeConfig]
