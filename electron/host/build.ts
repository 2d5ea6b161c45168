/** What a build was given. `electron/pack/bundle.ts` puts the values in; without it there are none. */
export const BUILD: { readonly releaseKey: string | undefined } = {
  // the key that releases are signed with, PEM
  releaseKey: process.env.GATEHOUSE_RELEASE_KEY,
}
