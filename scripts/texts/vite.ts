import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Hub } from 'wuchale'
import type { Plugin } from 'vite'
import { compiledOf, GERMAN, readTexts, SERVER_GERMAN, watchTexts, type Written } from './catalogue.ts'
import { readEntries } from './entries.ts'

const VIRTUAL = 'virtual:texts/'
const SERVER = 'virtual:server-texts'

async function serverPairs(written: Written): Promise<(readonly [english: string, german: string])[]> {
  const catalogue = written.get(SERVER_GERMAN) ?? (await readFile(SERVER_GERMAN, 'utf8'))
  return readEntries(catalogue).flatMap(({ english: [english = ''], german: [german = ''] }) =>
    german === '' ? [] : [[english, german] as const],
  )
}

/**
 * The texts of the console in the build: each becomes its place in the catalogue, and a language's catalogue is a chunk
 * of its own that is fetched when a page speaks it. A text without German reads English.
 */
export function texts(): Plugin {
  let hub: Hub
  let written: Written
  const open = async (isServed: boolean): Promise<void> => {
    ;({ hub, written } = await (isServed ? watchTexts() : readTexts()))
  }
  return {
    name: 'gatehouse:texts',
    enforce: 'pre',
    async configResolved({ command }) {
      await open(command === 'serve')
    },
    resolveId(id, importer) {
      if (id === SERVER) return `\0${SERVER}`
      if (id.startsWith(VIRTUAL)) return compiledOf(id.slice(VIRTUAL.length))
      const path = importer === undefined ? id : resolve(dirname(importer), id)
      return written.has(path) ? path : undefined
    },
    async load(id) {
      if (id === `\0${SERVER}`) return `export const pairs = ${JSON.stringify(await serverPairs(written))}`
      return written.get(id)
    },
    transform: {
      order: 'pre',
      async handler(code, id) {
        const file = id.replace(/\?[vt]=\w+$/, '')
        if (file.includes('?')) return undefined // the styles of a component
        const [{ code: made, map }] = await hub.transform(code, file)
        return made === undefined ? undefined : { code: made, map: map as string }
      },
    },
    async handleHotUpdate({ file, server, read }) {
      if (file === GERMAN || file === SERVER_GERMAN) {
        await server.restart()
        return []
      }
      const [, isNew] = await hub.transform(await read(), file)
      if (!isNew) return undefined
      for (const name of written.keys())
        for (const module of server.moduleGraph.getModulesByFile(name) ?? [])
          server.moduleGraph.invalidateModule(module)
      server.ws.send({ type: 'full-reload' })
      return []
    },
  }
}
