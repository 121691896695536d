import { defineConfig } from "vite";

// One script and one style sheet, named by their content, with relative URLs: the same files serve
// under any path prefix, and the server may cache them for ever.
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/stepscope/surfaces/static",
    emptyOutDir: true,
    target: "es2022",
    // Inlined data: and blob: assets would need wider Content-Security-Policy directives.
    assetsInlineLimit: 0,
    // The preload helper injects link elements at run time; one bundle has no use for it.
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        codeSplitting: false,
        entryFileNames: "assets/app-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  server: {
    proxy: { "/api": { target: process.env.STEPSCOPE_SERVER ?? "http://127.0.0.1:8791" } },
  },
});
