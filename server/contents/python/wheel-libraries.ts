import type { Reader } from '../reader.ts'
import { fileNameOf } from '../text-file.ts'

// auditwheel: `libpng16-1d1ba958.so.16.58.0`, and `libopenblas-r0-f650aae0.3.3.so`
const GRAFTED = /(?:^|\/)[^/]+\.libs\/lib([^/]+?)-[0-9a-f]{8}(?:\.[\d.]+)?\.so(?:\.[\d.]+)?$/

/** The libraries that auditwheel copied into a wheel: their names say the interface, and not the release. */
export const wheelLibraries: Reader = {
  id: 'wheel-library',
  wants: ({ path }) => path.includes('.libs/lib') && fileNameOf(path).length < 256 && GRAFTED.test(path),
  read: async ({ path }) => ({
    found: [
      {
        type: 'generic',
        name: `lib${GRAFTED.exec(path)?.[1] ?? ''}`,
        version: undefined,
        presence: 'shipped',
        rule: 'wheel-library',
        confidence: 'probable',
        unasked: 'Its file name has the number of its interface, not of its release.',
      },
    ],
  }),
}
