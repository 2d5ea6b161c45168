import { linesOf, textReader } from '../text-file.ts'
import { nugetFound } from './nuget-found.ts'

/** The manifest of a `.nupkg` that was not unpacked, and of an unpacked one in the folder of NuGet. */
export const nuspec = textReader({
  id: 'nuspec',
  path: /(?:\.nupkg!\/[^/]+|(?:^|\/)(?:\.nuget|NuGet[^/]*)\/(?:packages\/)?[^/]+\/[^/]+\/[^/]+)\.nuspec$/,
  most: 2 ** 20,
  read(text) {
    const fields = new Map<string, string>()
    for (const line of linesOf(text))
      for (const [, field = '', value = ''] of line.matchAll(/<(id|version)>([^<]{1,300})</g))
        if (!fields.has(field)) fields.set(field, value.trim())
    return nugetFound(fields.get('id') ?? '', fields.get('version') ?? '', { presence: 'shipped', rule: 'nuspec' })
  },
})
